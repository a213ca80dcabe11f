#!/usr/bin/env bash
# Makes test/fixtures/documents anew with the programs that write such files: pandoc, LibreOffice, groff, ghostscript.
# On Debian: apt-get install pandoc libreoffice-calc-nogui libreoffice-impress-nogui libreoffice-writer-nogui groff ghostscript
set -euo pipefail
cd "$(dirname "$0")/../test/fixtures/documents"
for format in docx odt epub fb2 ipynb; do pandoc sources/guide.md -o "guide.$format"; done
pandoc sources/slides.md -o slides.pptx
soffice --headless --convert-to xlsx staff.csv
soffice --headless --convert-to ods staff.csv
soffice --headless --convert-to odp slides.pptx
soffice --headless --convert-to pdf guide.docx
groff -Tps -ms sources/paper.ms | ps2pdf - paper.pdf
sed -n '/^.NH 1/,$p' sources/paper.ms | grep -v '^\.' > paper.txt
# Also: texlive-latex-base, qpdf. The same text in one column and in two.
work=$(mktemp -d)
sed 's/twocolumn,//' sources/columns.tex > "$work/onecolumn.tex"
cp sources/columns.tex "$work/twocolumn.tex"
for columns in onecolumn twocolumn; do
  pdflatex -interaction=batchmode -output-directory "$work" "$work/$columns.tex"
  cp "$work/$columns.pdf" .
done
rm -r "$work"
qpdf onecolumn.pdf --pages . 1 -- --encrypt secret owner 256 -- encrypted.pdf

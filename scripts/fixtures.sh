#!/usr/bin/env bash
# Regenerates test/fixtures/documents with the programs that write such files: pandoc, LibreOffice, groff, ghostscript.
# On Debian: apt-get install pandoc libreoffice-calc-nogui libreoffice-impress-nogui libreoffice-writer-nogui groff ghostscript
set -euo pipefail
cd "$(dirname "$0")/../test/fixtures/documents"
for format in docx odt epub fb2 ipynb; do pandoc sources/guide.md -o "guide.$format"; done
pandoc -s sources/guide.md -t man -o guide.1
pandoc -s sources/guide.md -t latex -o guide.tex
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
# Also: chromium, calibre, fonts-noto-cjk, fonts-hosny-amiri, fonts-dejavu-core, poppler-utils, python3, texlive-latex-recommended.
for page in report guide-ja guide-ar; do
  chromium --headless --no-sandbox --no-pdf-header-footer --print-to-pdf="$page.pdf" "sources/$page.html"
done
work=$(mktemp -d)
pdflatex -interaction=batchmode -output-directory "$work" sources/form.tex
cp "$work/form.pdf" .
# Formulas are calculated when the table is loaded; days and times are written as such.
for format in xlsx ods; do
  soffice --headless --infilter='CSV:44,34,76,1,1/1/2/5/3/1/4/1/5/1/6/5,0,false,true,false,false,false,-1,true' \
    --convert-to "$format" sources/accounts.csv
done
ebook-convert guide.docx calibre.epub --no-default-epub-cover
# A scan: a page that is only a picture.
pdftoppm -r 50 -gray -jpeg -singlefile guide.pdf "$work/scan"
cat > "$work/scan.tex" <<'TEX'
\documentclass{article}\usepackage{graphicx}\pagestyle{empty}
\begin{document}\noindent\includegraphics[width=\textwidth]{scan}\end{document}
TEX
(cd "$work" && pdflatex -interaction=batchmode scan.tex)
cp "$work/scan.pdf" .
python3 - <<'PYTHON'
from email.message import EmailMessage
from email.utils import format_datetime
from datetime import datetime, timezone
mail = EmailMessage()
mail["Subject"] = "Hive news: swarms in May 🐝"
mail["From"] = "Beekeepers' Union <news@example.org>"
mail["To"] = "Ben Sommer <ben@example.org>"
mail["Date"] = format_datetime(datetime(2024, 5, 28, 7, 30, tzinfo=timezone.utc))
mail["List-Unsubscribe"] = "<https://news.example.org/unsubscribe?u=73b1>"
mail["Message-ID"] = "<news-8841@example.org>"
mail.set_content(open("sources/newsletter.html").read(), subtype="html", cte="quoted-printable")
open("newsletter.eml", "wb").write(bytes(mail))
PYTHON
rm -r "$work"

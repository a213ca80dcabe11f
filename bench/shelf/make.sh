#!/usr/bin/env bash
# Makes the shelf for `npm run bench -- shelf`: manuals as Debian 12 packages them, mailboxes and notebooks of Python
# packages. Needs apt-get, dpkg-deb, pip and 250 MB: bench/shelf/make.sh FOLDER
set -euo pipefail
shelf=$(realpath -m "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$shelf"/{python,postgresql,pdf,mail,notebooks}
cd "$work"
apt-get download python3.11-doc postgresql-doc-15 asymptote-doc bash-doc glpk-doc gnuplot-doc ledger mpich-doc nauty-doc \
  octave-doc pari-doc r-doc-pdf valgrind yodl-doc graphviz-doc libtasn1-doc doxygen-doc maxima-doc
for package in *.deb; do dpkg-deb -x "$package" "${package%%_*}"; done
cp -r python3.11-doc/usr/share/doc/python3.11/html/. "$shelf/python"
rm -rf "$shelf"/python/{_sources,_static,_downloads}
cp -r postgresql-doc-15/usr/share/doc/postgresql-doc-15/html/. "$shelf/postgresql"
for pdf in asymptote-doc:asymptote bash-doc:bashref glpk-doc:glpk glpk-doc:gmpl gnuplot-doc:gnuplot ledger:ledger3 \
  mpich-doc:user nauty-doc:nug28 octave-doc:octave octave-doc:refcard-a4 pari-doc:tutorial pari-doc:users pari-doc:refcard \
  r-doc-pdf:R-intro r-doc-pdf:R-data r-doc-pdf:R-exts r-doc-pdf:R-lang r-doc-pdf:R-admin valgrind:valgrind_manual \
  yodl-doc:yodl graphviz-doc:dotguide graphviz-doc:smyrna graphviz-doc:neatoguide libtasn1-doc:libtasn1 \
  maxima-doc:maximabook-19-Sept-2004 doxygen-doc:doxygen_manual; do
  find "${pdf%%:*}" -type f \( -name "${pdf#*:}.pdf" -o -name "${pdf#*:}.pdf.gz" \) -exec cp {} "$shelf/pdf" \;
done
find "$shelf/pdf" -name '*.gz' -exec gunzip -f {} +
pip download --quiet --no-deps --no-binary :all: perceval==1.6.1 seaborn==0.13.2 nbconvert==7.17.2
for source in *.tar.gz; do tar xzf "$source"; done
find perceval-*/tests/data -name '*.mbox' -size +1k -exec cp {} "$shelf/mail" \;
cp seaborn-*/doc/_tutorial/*.ipynb seaborn-*/doc/_docstrings/*.ipynb nbconvert-*/docs/source/*.ipynb "$shelf/notebooks"

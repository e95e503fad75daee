# SPDX-License-Identifier: GPL-2.0-only
# Sphinx builds the HTML of this folder: `make docs`.
project = 'collective'
author = 'The collective developers'
copyright = author
root_doc = 'index'
exclude_patterns = ['ABI']
html_theme = 'alabaster'
html_theme_options = {
    'description': 'Collective operations without copies: same host, TCP, RDMA',
    'fixed_sidebar': True,
    'page_width': '1200px',
    'sidebar_width': '240px',
}
html_show_sphinx = False
html_copy_source = False
# Literal blocks are drawings, formats and commands of several languages.
highlight_language = 'none'
# The types in signatures of the reference are those of C, of other projects, or opaque.
nitpick_ignore_regex = [('c:identifier', '.*')]
# Beside index.html: scripts/docs makes them.
manpages_url = 'man/{page}.{section}.html'

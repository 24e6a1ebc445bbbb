# SPDX-License-Identifier: MIT
# Sphinx' configuration: make doc.

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

project = 'nnaccel'
version = release = os.environ.get('NNACCEL_VERSION', '')
copyright = 'the nnaccel authors'
extensions = ['kerneldoc']
exclude_patterns = []
highlight_language = 'none'
html_theme = 'furo'
html_title = f'nnaccel {release}'.strip()
html_copy_source = False
html_show_sphinx = False

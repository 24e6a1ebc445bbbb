# SPDX-License-Identifier: MIT
"""Directives for Sphinx: kernel-doc, as in Linux' documentation, and tables of the sources."""

import glob
import os
import re

from docutils import nodes
from docutils.parsers.rst import Directive, directives


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def comments(path):
    """Texts of the comments, without their stars."""
    for comment in re.findall(r'^\s*/\*\*(.*?)\*/', read(path), re.M | re.S):
        yield re.sub(r'^\s*\* ?', '', comment, flags=re.M).strip('\n ')


def paragraph(text):
    """Lists and columns stay as they are, text is filled."""
    if re.search(r'^(\t|\s*- |  )', text, re.M) and '\n' in text:
        return nodes.literal_block(text, text, language='none')
    return nodes.paragraph(text, ' '.join(text.split()))


def entry(text):
    """A term, what is said of it, and its parameters or fields; None for no kernel-doc."""
    head, _, rest = text.partition('\n')
    head = re.fullmatch(r'((?:struct |enum |union )?\w+(?:\(\))?)\s+-\s+(.*)', head)
    if not head:
        return None
    about = nodes.definition('', nodes.paragraph('', head[2] + '.'))
    fields = nodes.field_list()
    for block in re.split(r'\n\s*\n|\n(?=@)', rest):
        field = re.match(r'@([\w.\[\]]+):\s*(.*)', block, re.S)
        if field:
            fields += nodes.field('', nodes.field_name('', field[1]), nodes.field_body(
                '', nodes.paragraph('', ' '.join(field[2].split()))))
            if len(fields) == 1:
                about += fields
        elif block.strip():
            about += paragraph(block.strip('\n'))
    return nodes.definition_list_item('', nodes.term('', '', nodes.literal('', head[1])), about)


class OfSources(Directive):
    """A directive about the file, or the files of a pattern, that its argument names in the tree."""

    required_arguments = 1

    def paths(self):
        env = self.state.document.settings.env
        for path in sorted(glob.glob(os.path.join(os.path.dirname(env.srcdir), self.arguments[0]))):
            env.note_dependency(path)
            yield path

    def find(self, pattern, flags, what):
        """What the pattern finds in them; something has to be there."""
        found = [one for path in self.paths() for one in re.findall(pattern, read(path), flags)]
        if not found:
            raise self.error(f'{self.arguments[0]} has no {what}')
        return found


class KernelDoc(OfSources):
    """.. kernel-doc:: PATTERN, with Linux' option that leaves nothing out here. Files without kernel-doc have no entry."""

    option_spec = {'internal': directives.flag}

    def run(self):
        entries = [entry(text) for path in self.paths() for text in comments(path)]
        entries = [item for item in entries if item is not None]
        if not entries:
            raise self.error(f'{self.arguments[0]} has no kernel-doc')
        return [nodes.definition_list('', *entries)]


TYPES = {'FLOATS': ['float32', 'float16'], 'BYTES': ['uint8', 'int8'], 'INT': ['int32'], 'BOOL': ['bool'],
         'NN_T(NN_TENSOR_QUANT8_ASYMM)': ['uint8'], 'NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED)': ['int8'],
         'NN_T(NN_TENSOR_QUANT8_SYMM)': ['symmetric int8']}


class Operations(OfSources):
    """.. operations:: FILE, the operations of the table there, by the types of their first input"""

    def run(self):
        names = {}
        for name, types in self.find(r'^\t(?:OP\(|\{ NN_OP_)(\w+), ([\w() |]+),', re.M, 'operations'):
            key = ', '.join(one for part in types.split(' | ') for one in TYPES[part])
            names.setdefault(key, []).append(name)
        return [nodes.definition_list('', *(nodes.definition_list_item(
            '', nodes.term('', key), nodes.definition('', nodes.paragraph('', ', '.join(sorted(names[key])))))
            for key in sorted(names, key=lambda key: -len(names[key]))))]


class Faults(OfSources):
    """.. faults:: FILE, the faults there by the group of tests that finds them"""

    def run(self):
        groups = {}
        for group, text in self.find(r'^FAULT\(\w+, (\w+), "(.*)"\)$', re.M, 'faults'):
            groups.setdefault(group, []).append(text)
        return [nodes.definition_list('', *(nodes.definition_list_item(
            '', nodes.term('', '', nodes.literal('', group)),
            nodes.definition('', nodes.bullet_list('', *(nodes.list_item('', nodes.paragraph('', text))
                                                        for text in groups[group]))))
            for group in groups))]


class ModuleParameters(OfSources):
    """.. module-parameters:: FILE, what NNACCEL_PARAM() there says of each parameter"""

    def run(self):
        found = self.find(r'NNACCEL_PARAM\(\w+, (\w+), [^"]*"(.*?)"\);', re.S, 'parameters')
        return [nodes.definition_list('', *(nodes.definition_list_item(
            '', nodes.term('', '', nodes.literal('', name)),
            nodes.definition('', nodes.paragraph('', text + '.'))) for name, text in found))]


class Plots(Directive):
    """.. plots::, the plots of `make bench` in $NNACCEL_PLOTS, if any were made"""

    def run(self):
        env = self.state.document.settings.env
        plots = sorted(glob.glob(os.path.join(os.environ.get('NNACCEL_PLOTS', os.devnull), '*.svg')))
        env.note_reread()
        return [nodes.image(uri=os.path.relpath(plot, os.path.dirname(env.doc2path(env.docname))), alt=os.path.basename(plot))
                for plot in plots]


class ProgramOptions(Directive):
    """.. program-options:: FILE HEADER, rows of struct option_row, of which the first are the header's macro ENGINE_ROWS"""

    required_arguments = 2

    def run(self):
        env = self.state.document.settings.env
        top = os.path.dirname(env.srcdir)
        source, header = (read(os.path.join(top, path)).replace('\\\n', '\n') for path in self.arguments)
        for path in self.arguments:
            env.note_dependency(os.path.join(top, path))
        # Folders that the Makefile can change are shown with their defaults.
        names = {m[0]: m[1] for m in re.findall(r'^(\w+) \?= (/[^$\n]*)$', read(os.path.join(top, 'Makefile')), re.M)}
        names = {'NN_' + name: value for name, value in names.items()}
        names.update((name, self.text(value, names)) for name, value in re.findall(r'^#define (\w+) (.*")$', source, re.M))
        parameters = re.search(r'#define ENGINE_ROWS\((.*?)\)', header)[1].split(', ')
        values = re.search(r'\bENGINE_ROWS\((.*?)\),\n', source, re.S)[1]
        values = re.findall(r'((?:"[^"]*"|[^",])+)(?:,|$)', values)
        names.update((name, self.text(value, names)) for name, value in zip(parameters, values))
        rows = re.findall(r'\{ ("[^"]*"), ("\w+"|NULL), ((?:"(?:[^"\\]|\\.)*"|[#\w]+|\s+)+),\s*OPTION_',
                          header + source[source.index('ENGINE_ROWS('):])
        if len(parameters) != len(values) or len(rows) < 20:
            raise self.error('these are no rows of options')
        items = [('--' + name[1:-1] + ('' if value == 'NULL' else ' ' + value[1:-1]), self.text(text, names))
                 for name, value, text in rows if text not in ('NULL', '""')]
        return [nodes.definition_list('', *(nodes.definition_list_item(
            '', nodes.term('', '', nodes.literal('', head)),
            nodes.definition('', nodes.paragraph('', '', *(
                nodes.literal('', part) if part.startswith('--') else nodes.Text(part)
                for part in re.split('(--[a-z-]+)', text[0].upper() + text[1:] + '.'))))) for head, text in items))]

    @staticmethod
    def text(tokens, names):
        """A C string of literals and macros."""
        return ''.join(names.get(word, word) if word else literal.replace('\\n', ' ')
                       for literal, word in re.findall(r'"((?:[^"\\]|\\.)*)"|#?(\w+)', tokens))


def setup(app):
    app.add_directive('kernel-doc', KernelDoc)
    app.add_directive('module-parameters', ModuleParameters)
    app.add_directive('operations', Operations)
    app.add_directive('faults', Faults)
    app.add_directive('program-options', ProgramOptions)
    app.add_directive('plots', Plots)
    return {'version': '1', 'parallel_read_safe': True}

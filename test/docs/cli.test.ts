/**
 * Goal: docs/cli.md describes the command line there is, and no page shows a command that is not there.
 * Method: compare the page's tables with the program's own commands, options and exit codes, both ways; look up every
 * command line in shell blocks and backticks. Of required options, an example must have all.
 */
import { expect } from 'chai';
import type { Command } from 'commander';
import { EXIT } from '../../apps/cli/exit.js';
import { createProgram } from '../../apps/cli/program.js';
import { quietIo } from '../harness/cli-run.js';
import { allPages, codeSpans, type Page, plain, readPage, tablesOf } from './pages.js';

const program = createProgram(quietIo());
const page = readPage('docs/cli.md');
/** Every command has these, or every command of one kind; the prose speaks of them. */
const COMMON_OPTIONS = ['--json', '--url'];

function leaves(
  command: Command,
  path: readonly string[] = [],
): { readonly command: Command; readonly path: readonly string[] }[] {
  const here = [...path, command.name()];
  return command.commands.length === 0
    ? [{ command, path: here }]
    : command.commands.flatMap((child) => leaves(child, here));
}

function firstColumn(title: string): string[] {
  return tablesOf(page)
    .filter(({ columns }) => columns[0] === title)
    .flatMap(({ rows }) => rows.map(([cell]) => plain(cell)));
}

describe('docs/cli.md', () => {
  it('has every command with its arguments, and no other', () => {
    const known = leaves(program).map(({ command, path }) =>
      [
        ...path,
        ...command.registeredArguments.map((argument) =>
          argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
        ),
      ].join(' '),
    );
    expect(firstColumn('Command').sort()).to.deep.equal(known.sort());
  });

  it('has every option, and no other', () => {
    const known = new Set(leaves(program).flatMap(({ command }) => command.options.map(({ long }) => long ?? '')));
    for (const option of COMMON_OPTIONS) expect(page.text, option).to.include(`\`${option}\``);
    const documented = firstColumn('Option').flatMap((cell) => cell.split(', '));
    expect(documented.sort()).to.deep.equal([...known].filter((option) => !COMMON_OPTIONS.includes(option)).sort());
  });

  it('has every exit code, and no other', () => {
    expect(firstColumn('Code').map(Number).sort(byValue)).to.deep.equal(Object.values(EXIT).sort(byValue));
  });
});

describe('commands shown in the documentation', () => {
  for (const shown of allPages()) {
    it(`${shown.path} shows only commands and options that are there`, () => {
      expect(commandLines(shown).flatMap(faultOf)).to.deep.equal([]);
    });
  }
});

/** The words after `darkroom` in shell blocks and in backticks; quoted text is one word. */
function commandLines(shown: Page): string[][] {
  const blocks = shown.blocks.filter(({ info }) => info === 'sh').map(({ text }) => text.replaceAll('\\\n', ' '));
  const lines = [...blocks.flatMap((text) => text.split('\n')), ...codeSpans(shown)];
  return lines
    .flatMap((line) => [...line.matchAll(/(?:^|npx |\$\()darkroom ((?:"[^"]*"|[^|;&)"\n])+)/g)])
    .map(([, rest = '']) => [...rest.matchAll(/"[^"]*"|\S+/g)].map(([word]) => word));
}

function faultOf(words: readonly string[]): string[] {
  let command: Command | undefined = program;
  const names = words.filter((word) => !word.startsWith('-'));
  for (const name of names) {
    if (!command || command.commands.length === 0) break;
    command = command.commands.find((child) => [child.name(), ...child.aliases()].includes(name));
  }
  if (!command) return [`There is no command darkroom ${names.join(' ')}.`];
  const known = new Set([
    '--help',
    '--version',
    ...leaves(command).flatMap((leaf) => leaf.command.options.flatMap(({ long, short }) => [long, short])),
  ]);
  const given = words.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0] ?? '');
  const required = command.options.filter(({ mandatory }) => mandatory);
  // Without any option, a command may be named only.
  const isExample = given.length > 0 && !given.includes('--help');
  return [
    ...words
      .filter((word) => word.startsWith('--') && !known.has(word.split('=')[0]))
      .map((word) => `darkroom ${names[0]} has no option ${word}.`),
    ...required
      .filter(({ long, short }) => isExample && !given.includes(long ?? '') && !given.includes(short ?? ''))
      .map(({ long }) => `darkroom ${names.join(' ')} needs ${long}.`),
  ];
}

function byValue(a: number, b: number): number {
  return a - b;
}

/**
 * The text of config/darkroom.example.yaml, made of the table of keys. `node dist/test/fronts/config/example-file.js`
 * writes the file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_KEYS, SECTION_COMMENTS } from '../../../apps/config/keys.js';
import { ROOT } from '../../docs/pages.js';

export const EXAMPLE_FILE = join(ROOT, 'config/darkroom.example.yaml');

const HEADER = `# Every key of darkroom.yaml with its default. Copy the lines that you want to change, and omit the rest.
#
# The configuration file is the one given with --config, else the one that DARKROOM_CONFIG names, else darkroom.yaml in
# the working directory, if it exists. A variable overrides its key: DARKROOM_REST_PORT is rest.port,
# DARKROOM_SETTINGS_LEASE_SECONDS is settings.lease_seconds. Relative paths start in the working directory.
`;

export function exampleText(): string {
  const lines = [HEADER];
  let open: readonly string[] = [];
  for (const [path, { description, default: byDefault = null }] of CONFIG_KEYS) {
    const sections = path.split('.');
    const name = sections.pop() ?? '';
    for (const [depth, section] of sections.entries()) {
      if (open[depth] === section) continue;
      if (depth === 0) lines.push('');
      open = sections.slice(0, depth + 1);
      lines.push(...comment(SECTION_COMMENTS[open.join('.')], depth), `${'  '.repeat(depth)}${section}:`);
    }
    open = sections;
    const value = typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault);
    lines.push(
      ...comment(description as string | undefined, sections.length),
      `${'  '.repeat(sections.length)}${name}: ${value}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function comment(text: string | undefined, depth: number): string[] {
  if (text === undefined) return [];
  const indent = '  '.repeat(depth);
  const lines = [`${indent}#`];
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > 120) lines.push(`${indent}#`);
    lines.push(`${lines.pop()} ${word}`);
  }
  return lines;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(EXAMPLE_FILE, exampleText());

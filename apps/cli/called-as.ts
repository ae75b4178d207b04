import { basename, relative, sep } from 'node:path';
import type { Environment } from '../config/load-config.js';
import { quoted, shellWord } from '../shell-word.js';

/** Longer text in DARKROOM_COMMAND is not a command. */
const MAX_CHARACTERS = 200;

/**
 * The command by which this process was called, for texts that show commands to copy: DARKROOM_COMMAND where that is set,
 * such as by the image; else what the variables of npm and the path of the script show. `script` is the second word of the
 * process, `folder` the current folder.
 */
export function calledAs(environment: Environment, script: string, folder: string): string {
  const given = environment['DARKROOM_COMMAND']?.trim() ?? '';
  if (/^[\x20-\x7e]+$/.test(given) && given.length <= MAX_CHARACTERS) return given;
  // In a folder without the package, npx would download the package `darkroom`, which is another project's.
  if (script.includes(`${sep}_npx${sep}`)) return 'npx darkroom-server';
  if (environment['npm_command'] !== undefined || script.includes(`${sep}node_modules${sep}.bin${sep}`))
    return 'npx darkroom';
  if (/^darkroom(\.[a-z0-9]+)?$/.test(basename(script))) return 'darkroom';
  const path = relative(folder, script);
  const shortest = path.startsWith('..') ? script : path;
  return `node ${shellWord(shortest)}`;
}

/** Whether the command runs the program in a container, where a path of the program's is not the user's. */
export function isInContainer(command: string): boolean {
  return /^(?:docker|kubectl) exec /.test(command);
}

/** The command by which the user reads a file of the program's. */
export function readingCommand(command: string, file: string): string {
  const inside = isInContainer(command) ? command.replace(/darkroom$/, '') : '';
  return `${inside}cat ${quoted(file)}`;
}

/** Rewrites each `darkroom <command>` of a text for `command`; other mentions of the name stay. */
export function asCalled(text: string, command: string, names: readonly string[]): string {
  const known = new RegExp(`(?<![\\w./-])darkroom (?=\\[options\\]|(?:${names.join('|')})\\b)`, 'g');
  return text.replace(known, (_match, at: number) => {
    // The login asks for the key.
    const isAsking = text.startsWith('darkroom login', at);
    return `${isAsking && isInContainer(command) ? command.replace(' exec ', ' exec -it ') : command} `;
  });
}

import { spawn } from 'node:child_process';
import { readPage } from '../docs/pages.js';

export interface Ran {
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly text: string;
}

/** The sh block of a page that contains a text. Exactly one may contain it. */
export function documented(page: string, text: string): string {
  const found = readPage(page).blocks.filter((block) => block.info === 'sh' && block.text.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`${page} has ${found.length} sh blocks with "${text}" instead of one.`);
  return block.text;
}

/** The one command of the block that contains the text. A command may take several lines. */
export function documentedCommand(page: string, text: string): string {
  const commands = documented(page, text).replaceAll('\\\n', ' ').split('\n');
  const [command = ''] = commands.filter((line) => line.includes(text));
  return command;
}

/** Runs commands as a reader would who pastes them into a shell, which ends at the first failure. */
export async function runCommands(
  commands: string,
  { folder, environment }: { readonly folder: string; readonly environment: NodeJS.ProcessEnv },
): Promise<Ran> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, text: printed };
}

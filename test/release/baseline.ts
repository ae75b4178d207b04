import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../docs/pages.js';
import { type Buf, bufProgram } from '../servers/buf/buf.js';
import { breaks, type Difference, type Interface } from './entries.js';
import { INTERFACE_NAMES, type InterfaceName, INTERFACES } from './interfaces.js';

/** The interfaces of the last release are in a folder of its version; there is one such folder. */
const FOLDER = 'release/interfaces';
const PUBLISHED_PROTO = 'proto/published.yaml';

export type Interfaces = Readonly<Record<InterfaceName, Interface>>;

/** A breaking difference and the title of its interface. */
export interface Break extends Difference {
  readonly title: string;
}

export interface Baseline {
  readonly version: string;
  readonly interfaces: Interfaces;
}

export function collectInterfaces(): Interfaces {
  return Object.fromEntries(INTERFACE_NAMES.map((name) => [name, INTERFACES[name].collect()])) as Interfaces;
}

/** Reads what the last release recorded. Throws a sentence if that is incomplete. */
export function readBaseline(root = ROOT): Baseline {
  const versions = existsSync(join(root, FOLDER)) ? readdirSync(join(root, FOLDER)) : [];
  const [version, ...others] = versions;
  if (version === undefined || others.length > 0)
    throw new Error(`${FOLDER} has to have the folder of one version, and has ${versions.join(', ') || 'none'}.`);
  const interfaces = Object.fromEntries(
    INTERFACE_NAMES.map((name) => [
      name,
      JSON.parse(readFileSync(join(root, FOLDER, version, `${name}.json`), 'utf8')) as Interface,
    ]),
  ) as Interfaces;
  return { version, interfaces };
}

/** Records the interfaces as those of a version, in place of the last one's. */
export async function writeBaseline(version: string, interfaces: Interfaces, root = ROOT): Promise<void> {
  rmSync(join(root, FOLDER), { recursive: true, force: true });
  mkdirSync(join(root, FOLDER, version), { recursive: true });
  for (const name of INTERFACE_NAMES)
    writeFileSync(join(root, FOLDER, version, `${name}.json`), textOf(interfaces[name]));
  const buf = await bufProgram();
  const { code, text } = buf(['build', 'proto', '--exclude-source-info', '-o', PUBLISHED_PROTO], root);
  if (code !== 0) throw new Error(`buf cannot record proto/: ${text}`);
}

/** One entry per line, so that a change of one is a line of a diff. */
function textOf(entries: Interface): string {
  const lines = Object.entries(entries)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, entry]) => `  ${JSON.stringify(name)}: ${JSON.stringify(entry)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Returns the differences that break users of the baseline, including gRPC. */
export function breaksSince({ interfaces: before }: Baseline, after: Interfaces, buf: Buf, root = ROOT): Break[] {
  const own = INTERFACE_NAMES.flatMap((name) =>
    breaks(before[name], after[name]).map((difference) => ({ ...difference, title: INTERFACES[name].title })),
  );
  return [...own, ...protoBreaks(buf, root)];
}

interface BufFault {
  readonly path?: string;
  readonly message: string;
}

/** Compares proto/, or another folder, with the published files by buf. */
export function protoBreaks(buf: Buf, root = ROOT, folder = 'proto'): Break[] {
  const published = join(root, PUBLISHED_PROTO);
  const { code, text } = buf(['breaking', folder, '--against', published, '--error-format', 'json'], root);
  if (code === 0) return [];
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  if (lines.length === 0) throw new Error(`buf cannot compare proto/ with ${PUBLISHED_PROTO}: ${text}`);
  return lines.map((line) => {
    const { message } = JSON.parse(line) as BufFault;
    // "… field "12" with name "charged_credits" on message "GenerationTask" …" is about GenerationTask.charged_credits.
    const names = [...message.matchAll(/"([A-Za-z_][\w.]*)"/g)].map(([, name = '']) => name.split('.').at(-1)!);
    const owner = /(?:message|enum|service) "([\w.]+)"/.exec(message)?.[1]?.split('.').at(-1);
    const part = names.find((name) => name !== owner);
    const name = [owner, part].filter((one) => one !== undefined).join('.') || 'proto';
    return { title: 'gRPC', name, change: `breaks callers (${message})` };
  });
}

/** The breaks that the changelog does not mention, as one sentence each. */
export function unmentioned(found: readonly Break[], mentions: string): readonly string[] {
  return found
    .filter(({ name }) => !mentions.includes(`\`${name}\``))
    .map(
      ({ title, name, change }) =>
        `${title}: ${name} ${change}; name \`${name}\` under "Breaking" of Unreleased in CHANGELOG.md and say what to do, or undo it.`,
    );
}

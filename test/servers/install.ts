/**
 * `npm run servers:install`: finds or installs the servers that tests use, prints a line about each, and exits with 1
 * if one is absent in CI. With `--brief`, which scripts that need servers use at their start, it prints one line if all
 * are there.
 */
import { parseArgs } from 'node:util';
import { findProgram, type FoundProgram } from './find-program.js';
import { installProgram } from './install-program.js';
import { isCi } from './server-absent.js';
import { PROGRAMS, type Program } from './programs.js';

interface Reported {
  readonly line: string;
  readonly isAbsent: boolean;
  readonly isNew?: boolean;
}

async function report(program: Program): Promise<Reported> {
  const missing = program.variables.filter((name) => !process.env[name]);
  if (program.variables.length > 0 && missing.length === 0)
    return { line: `at ${program.variables.join(' and ')} of the environment`, isAbsent: false };
  const found = findProgram(program);
  if (found) return { line: placeOf(found), isAbsent: false };
  if (process.env['TEST_SERVERS_INSTALL'] === 'never')
    return {
      line: `absent, and TEST_SERVERS_INSTALL says never; its tests need ${(missing.length > 0 ? missing : program.commands).join(' and ')}.`,
      isAbsent: true,
    };
  console.log(
    `${program.title}: installing ${program.installs[0]?.version ?? ''}, once on this machine; a build from source takes some minutes`,
  );
  try {
    return { line: `${placeOf(await installProgram(program))}, installed now`, isAbsent: false, isNew: true };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const ways = [
      'Help that',
      ...(program.commands.length === 0 ? [] : [`put ${program.commands.join(' or ')} on the PATH`]),
      ...(missing.length === 0 ? [] : [`set ${missing.join(' and ')}`]),
    ];
    return {
      line: `absent: ${reason}. ${ways.slice(0, -1).join(', ')}, or ${ways.at(-1)}; tests that need it are skipped.`,
      isAbsent: true,
    };
  }
}

function placeOf({ path, from, version }: FoundProgram): string {
  return from === 'PATH' ? `${path}, from the PATH` : `${version ?? ''} in ${path}`;
}

const {
  values: { brief },
} = parseArgs({ options: { brief: { type: 'boolean', default: false } } });
const there = new Set<Program>();
const programs = Object.values(PROGRAMS);
const tools = new Set(programs.map(toolOf));
await Promise.all([...tools].map((tool) => reportEach(programs.filter((program) => toolOf(program) === tool))));
const titles = programs.filter((program) => there.has(program)).map(({ title }) => title);
if (titles.length > 0) console.log(`Servers that are there: ${titles.join(', ')}`);

function toolOf(program: Program): string | undefined {
  return program.installs[0]?.tool;
}

/**
 * Installs the programs of one tool, one after another: its builds share a cache, and two at once would compile the same
 * packages twice. Different tools run at the same time: one compiles while another downloads.
 */
async function reportEach(ofOneTool: readonly Program[]): Promise<void> {
  for (const program of ofOneTool) {
    const { line, isAbsent, isNew = false } = await report(program);
    if (isAbsent && isCi()) process.exitCode = 1;
    if (brief && !isAbsent && !isNew) there.add(program);
    else console.log(`${program.title}: ${line}`);
  }
}

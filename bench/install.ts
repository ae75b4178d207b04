/**
 * `npm run bench:install`: what the parts `queues` and `gateways` need beyond the servers for tests, a line about each. It
 * ends with 1 when one could not be had.
 */
import { findProgram } from '../test/servers/find-program.js';
import { installProgram } from '../test/servers/install-program.js';
import type { Program } from '../test/servers/programs.js';
import { LITELLM } from './gateways/litellm.js';
import { BULLMQ } from './queues/bullmq.js';
import { GRAPHILE_WORKER } from './queues/graphile-worker.js';
import type { NpmLibrary } from './queues/npm-library.js';
import { findPostgres, installPostgres } from './queues/postgres.js';
import { REDIS } from './queues/redis.js';

/** Answers where it is. */
type Installing = () => string | Promise<string>;

const ofProgram = (program: Program): [string, Installing] => [
  program.title,
  async () => (findProgram(program) ?? (await installProgram(program))).path,
];
const ofLibrary = (library: NpmLibrary): [string, Installing] => [library.title, () => library.install()];

function postgres(): string {
  const fault = findPostgres() === null ? installPostgres() : undefined;
  const found = findPostgres();
  if (found === null) throw new Error(fault ?? 'it was installed, and is not to be found');
  return found;
}

for (const [title, install] of [
  ofProgram(REDIS),
  ofLibrary(BULLMQ),
  ofLibrary(GRAPHILE_WORKER),
  ['PostgreSQL', postgres] as [string, Installing],
  ofProgram(LITELLM),
]) {
  try {
    console.log(`${title}: ${await install()}`);
  } catch (error) {
    console.log(`${title}: absent: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

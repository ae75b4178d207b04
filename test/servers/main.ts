/**
 * `npm run servers`: MongoDB and MinIO for a developer, with data that stays in `.servers/` of the checkout and a
 * configuration that runs Darkroom over them. `--json` prints where they are as JSON, for scripts.
 */
import { once } from 'node:events';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AlreadyRunning, DeveloperServers } from './developer-servers.js';
import { findProgram, type FoundProgram } from './find-program.js';
import { installProgram, NotInstalled } from './install-program.js';
import { type Program, PROGRAMS } from './programs.js';

const FOLDER = fileURLToPath(new URL('../../../.servers', import.meta.url));
const {
  values: { json },
} = parseArgs({ options: { json: { type: 'boolean', default: false } } });

try {
  const mongo = await had(PROGRAMS.mongo);
  await had(PROGRAMS.minio);
  await run(mongo);
} catch (error) {
  if (!(error instanceof AlreadyRunning || error instanceof NotInstalled)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function had(program: Program): Promise<FoundProgram> {
  const found = findProgram(program);
  if (found) return found;
  console.error(`Installing ${program.title}, once on this machine; a build from source takes some minutes.`);
  try {
    return await installProgram(program);
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    throw new NotInstalled(
      `${program.title} cannot be had: ${error.message}. Help that, or put ${program.commands.join(' or ')} on the PATH.`,
    );
  }
}

async function run(mongo: FoundProgram): Promise<void> {
  const asked = Promise.race((['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => once(process, signal)));
  const servers = await DeveloperServers.start(FOLDER, mongo);
  tell(servers);
  const failure = await Promise.race([asked.then(() => null), servers.untilOneEnds()]);
  if (failure !== null) {
    console.error(failure);
    process.exitCode = 1;
  }
  await servers.stop();
}

function tell(servers: DeveloperServers): void {
  if (json) {
    console.log(JSON.stringify(servers.addresses));
    return;
  }
  console.log(
    [
      `MongoDB  ${servers.mongo.url}  (${servers.mongo.program.path})`,
      `MinIO    ${servers.minio.url}  access key ${servers.minio.s3.accessKey}, secret key ${servers.minio.s3.secretKey}`,
      `Data     ${FOLDER}, kept for the next time; remove the folder to begin anew`,
      '',
      'Darkroom over them, in another terminal:',
      `  npm start -- --config ${relative(process.cwd(), servers.configFile)} --migrate`,
      '',
      'Ctrl-C ends the servers.',
    ].join('\n'),
  );
}

/**
 * `node dist/test/openapi/main.js`: sends the started program the requests that schemathesis generates from its OpenAPI
 * document, valid and invalid, and checks every answer against the document.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SCOPES } from '../../core/access/credential.js';
import { textOf } from '../history/values.js';
import { installProgram } from '../servers/install-program.js';
import { interpreterOf } from '../servers/python-environment.js';
import { LiveService } from '../service/live-service.js';
import { readOptions, runProgram, wholeNumber } from '../simulation/command-line.js';
import { SCHEMATHESIS, SCHEMATHESIS_CONFIG } from './schemathesis.js';

const USAGE = `Sends requests made of the OpenAPI document to the started program, and holds the answers to the document.

  --seed N       what decides the requests (1)
  --examples N   how many for each operation in each phase (200)
`;

const CREDITS = 10_000_000;
/** The most that may be configured: no run should be refused for a full queue. */
const CONFIG = { settings: { max_open_generations_per_account: 100_000 } };

async function main(): Promise<number> {
  const values = readOptions({ seed: { type: 'string' }, examples: { type: 'string' } });
  const [seed, examples] = [wholeNumber('seed', values.seed) ?? 1, wholeNumber('examples', values.examples) ?? 200];
  const python = interpreterOf(await installProgram(SCHEMATHESIS));
  const service = await LiveService.start({ config: CONFIG });
  try {
    const { secret } = await service.tenant(CREDITS, SCOPES);
    const webhook = { url: 'https://app.example/webhooks' };
    const { data } = await service.client(secret).request('POST', '/webhooks', { body: webhook });
    const ids = { DARKROOM_WEBHOOK_ID: textOf(data['webhook_id']) };
    // The tool stores its state in its working folder, which is removed with the service's.
    const tool = spawn(
      python,
      [
        '-m',
        'schemathesis.cli',
        '--config-file',
        SCHEMATHESIS_CONFIG,
        'run',
        `${service.url}/openapi.json`,
        '--phases',
        'examples,coverage,fuzzing,stateful',
        '--max-examples',
        String(examples),
        '--seed',
        String(seed),
        '--continue-on-failure',
        '--generation-database',
        'none',
      ],
      { cwd: service.folder, env: { ...process.env, ...ids, DARKROOM_API_KEY: secret }, stdio: 'inherit' },
    );
    const [code] = (await once(tool, 'exit')) as [number | null];
    return code ?? 3;
  } finally {
    await service.remove();
  }
}

await runProgram(USAGE, main);

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import { interpreterOf, pythonEnvironment } from '../../test/servers/python-environment.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { OwnServer } from '../servers/own-server.js';
import { PICTURE_MODEL } from '../servers/picture-model.js';
import { type GatewayServer, isAlive } from './gateway-server.js';

const REQUIREMENTS = fileURLToPath(new URL('../../../bench/gateways/requirements.txt', import.meta.url));

/** LiteLLM's proxy. */
export const LITELLM = pythonEnvironment({ name: 'litellm', title: 'LiteLLM' }, REQUIREMENTS);

export interface LiteLlmChoice {
  /** The base URL of the Images API to which it forwards requests. */
  readonly baseUrl: string;
  readonly workers: number;
  /** The key that its clients present. */
  readonly masterKey: string;
}

/** Without these it downloads lists at its start and later, although the package contains copies. */
const LOCAL_LISTS = {
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  LITELLM_LOCAL_BLOG_POSTS: 'True',
  LITELLM_LOCAL_POLICY_TEMPLATES: 'True',
  LITELLM_LOCAL_AUTOROUTER_PRESETS: 'True',
  LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS: 'True',
} as const;

/** The settings recommended for production by its documentation: only errors in the log, and no .env file. */
const PRODUCTION = { LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR' } as const;

/** Throws `ServerAbsent` if it is not installed. */
export async function startLiteLlm(folder: string, choice: LiteLlmChoice): Promise<GatewayServer> {
  const found = findProgram(LITELLM);
  if (!found) throw new ServerAbsent('LiteLLM is not on this machine: run `npm run bench:install`.');
  const config = join(folder, 'config.yaml');
  // JSON is YAML too.
  writeFileSync(config, JSON.stringify(configOf(choice)), { mode: 0o600 });
  const port = await freePort();
  const options = {
    config,
    host: '127.0.0.1',
    port: String(port),
    num_workers: String(choice.workers),
    telemetry: 'False',
    // Longer than the other sides take for their slices.
    keepalive_timeout: '120',
  };
  const server = await OwnServer.start(
    { title: 'LiteLLM', isReady: () => isAlive(port, '/health/liveliness') },
    {
      program: interpreterOf(found),
      args: [
        '-m',
        'litellm.proxy.proxy_cli',
        ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      ],
      environment: { PATH: process.env['PATH'] ?? '', HOME: folder, ...LOCAL_LISTS, ...PRODUCTION },
      folder,
      endSignal: 'SIGTERM',
    },
  );
  await untilStarted(server);
  return { port, server };
}

/** One model, and a key: without a database it knows no other keys, budgets or records of spending. */
function configOf({ baseUrl, masterKey }: LiteLlmChoice): unknown {
  return {
    model_list: [
      {
        model_name: PICTURE_MODEL,
        litellm_params: { model: `openai/${PICTURE_MODEL}`, api_base: baseUrl, api_key: 'unused' },
        model_info: { mode: 'image_generation' },
      },
    ],
    general_settings: { master_key: masterKey },
  };
}

const LOOK_MS = 1_000;
const LOOKS = 60;
/** A fraction of one core: less than a worker uses while it starts. */
const IDLE_SHARE = 0.1;

/**
 * The first worker responds before the others have started. Workers that are starting use as much of a core as they
 * get.
 */
async function untilStarted(server: OwnServer): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const before = server.cpuMicros();
    await sleep(LOOK_MS);
    const after = server.cpuMicros();
    if (before === undefined || after === undefined || after - before < IDLE_SHARE * LOOK_MS * 1_000) return;
  }
  throw new Error('LiteLLM did not come to rest after its start.');
}

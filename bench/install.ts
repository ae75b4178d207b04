import { findProgram } from '../test/servers/find-program.js';
import { installProgram } from '../test/servers/install-program.js';
import { LITELLM } from './gateways/litellm.js';

/** `npm run bench:install`: installs LiteLLM's proxy for the part `gateways`. Exits with 1 when that is not possible. */
try {
  console.log(`${LITELLM.title}: ${(findProgram(LITELLM) ?? (await installProgram(LITELLM))).path}`);
} catch (error) {
  console.log(`${LITELLM.title}: absent: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

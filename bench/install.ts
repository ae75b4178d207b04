import { findProgram } from '../test/servers/find-program.js';
import { installProgram } from '../test/servers/install-program.js';
import { LITELLM } from './gateways/litellm.js';
import { PORTKEY } from './gateways/portkey.js';

/** `npm run bench:install`: installs the gateways for the part `gateways`. Exits with 1 where that is not possible. */
for (const gateway of [LITELLM, PORTKEY])
  try {
    console.log(`${gateway.title}: ${(findProgram(gateway) ?? (await installProgram(gateway))).path}`);
  } catch (error) {
    console.log(`${gateway.title}: absent: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }

import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { sha256Of } from '../../../fixtures/sha256.js';
import { render } from './render.js';
import { HandClock } from './tasks.js';

/** Runs as a separate process: prints the digest of one small picture. */
const provider = new SandboxProvider({ clock: new HandClock(), threads: 1 });
const [bytes] = await render(provider, { parameters: { size: '256x256' } });
console.log(sha256Of(bytes!));
await provider.close();

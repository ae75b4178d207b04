import { register } from 'node:module';
import { MUTANT_VARIABLE } from '../../simulation/mutants/switch.js';

// Loaded by `node --import` before anything else, in the process and in each of its worker threads.
register('./load-hook.js', import.meta.url, { data: { mutant: process.env[MUTANT_VARIABLE] } });

// For `mocha --require`: what this process runs, it runs in full.
import { FULL_RUN_VARIABLE } from './run-sizes.js';

process.env[FULL_RUN_VARIABLE] = 'all';

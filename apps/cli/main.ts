#!/usr/bin/env node
import { ignoreClosedPipes, processIo } from './process-io.js';
import { run } from './run.js';

ignoreClosedPipes();
process.exitCode = await run(process.argv.slice(2), processIo());

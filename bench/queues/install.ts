/** `npm run bench:install`: what `npm run bench -- --only queues` needs beyond the servers for tests. */
import { findProgram } from '../../test/servers/find-program.js';
import { installProgram } from '../../test/servers/install-program.js';
import { installBullMq } from './bullmq.js';
import { REDIS } from './redis.js';

console.log(`Redis: ${(findProgram(REDIS) ?? (await installProgram(REDIS))).path}`);
console.log(`BullMQ: ${installBullMq()}`);

import type { Database, SqlValue } from './driver.js';
import { acceptanceWrites } from './acceptance-writes.js';
import { accountWrites } from './account-writes.js';
import { artefactWrites } from './artefact-writes.js';
import { claimWrites } from './claim-writes.js';
import { credentialWrites } from './credential-writes.js';
import { generationWrites } from './generation-writes.js';
import { installationWrites } from './installation-writes.js';
import { personWrites } from './person-writes.js';
import { providerUseWrites } from './provider-use-writes.js';
import { uploadWrites } from './upload-writes.js';
import { webhookWrites } from './webhook-writes.js';
import { usageWrites } from './usage-writes.js';
import { wakeUpWrites } from './wake-up-writes.js';

/** What a write answers: how many rows it changed, or the JSON of what stood in its way. */
export type WriteResult = number | string;

/**
 * One write: a few statements that apply together or not at all. Arguments are flat, as they cross to another thread.
 */
export type Write = (...parameters: SqlValue[]) => WriteResult;

/** Every write there is, by name, its statements prepared once on this connection. */
export function prepareWrites(database: Database) {
  const chain = { ...accountWrites(database), ...generationWrites(database), ...claimWrites(database) };
  return {
    ...chain,
    ...acceptanceWrites(database, chain),
    ...uploadWrites(database),
    ...credentialWrites(database),
    ...personWrites(database),
    ...artefactWrites(database),
    ...providerUseWrites(database),
    ...webhookWrites(database),
    ...usageWrites(database),
    ...wakeUpWrites(database),
    ...installationWrites(database),
  } satisfies Record<string, Write>;
}

export type WriteName = keyof ReturnType<typeof prepareWrites>;

/** The name of a write and its arguments. */
export type Unit = readonly [WriteName, ...SqlValue[]];

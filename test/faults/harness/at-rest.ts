import type { Context } from '../../../core/context.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import type { UploadRecord } from '../../../core/uploads/upload.js';
import { allPages } from '../../contracts/versioned-records.js';
import { s3Client } from '../../servers/readiness.js';
import type { AtRest } from '../../history/recorded/history.js';
import type { Installation } from './installation.js';

/**
 * Everything the operator finds once nothing is in progress. Accounts and ledgers are read directly from the database;
 * generations and uploads through the program's own adapters. The ids are those that clients know; everything else is
 * found by listing.
 */
export async function findAtRest(
  installation: Installation,
  uploadIds: readonly string[],
  generationIds: readonly string[],
): Promise<AtRest> {
  const { context } = installation.operator;
  const { accounts, texts } = await installation.findDatabaseAtRest();
  const ledgerIds = accounts.flatMap(({ entries }) =>
    entries.flatMap(({ generationId }) => (generationId === undefined ? [] : [generationId])),
  );
  return {
    accounts,
    generations: await generationsOf(
      context,
      accounts.map(({ accountId }) => accountId),
      [...generationIds, ...ledgerIds],
    ),
    uploads: await uploadsOf(context, uploadIds),
    objects: await objectsOf(installation),
    verifyFindings: (await verifyCredits(context)).findings,
    texts: [...installation.processes.map(({ name, log }) => ({ where: `the log of ${name}`, text: log })), ...texts],
  };
}

/** Generations from the lists of their accounts, and the records at other ids that are referenced. */
async function generationsOf(
  { generations }: Context,
  accountIds: readonly string[],
  ids: readonly string[],
): Promise<GenerationRecord[]> {
  const records = new Map<string, GenerationRecord>();
  for (const accountId of accountIds) {
    for (const generation of await allPages((page) => generations.list({ of: 'account', accountId }, page), 500))
      records.set(generation.generationId, generation);
  }
  for (const id of new Set(ids)) {
    const record = records.get(id) ?? (await generations.read(id));
    if (record) records.set(id, record);
  }
  return [...records.values()];
}

async function uploadsOf({ uploads, objects, digests }: Context, ids: readonly string[]): Promise<AtRest['uploads']> {
  const found = await Promise.all([...new Set(ids)].map((id) => uploads.read(id)));
  const records = found.filter((record): record is UploadRecord => record !== null);
  return Promise.all(
    records.map(async (record) => {
      const bytes =
        record.kind === 'upload' && record.status === 'ready' && record.objectKey !== undefined
          ? await objects.read(record.objectKey)
          : null;
      return { record, ...(bytes ? { stored: await digests.ofBytes(bytes) } : {}) };
    }),
  );
}

async function objectsOf({ s3, bucket }: Installation): Promise<AtRest['objects']> {
  const found: { key: string; byteSize: number }[] = [];
  for await (const item of s3Client(s3.s3).listObjectsV2(bucket, '', true)) {
    const { name, size } = item as { readonly name: string; readonly size: number };
    found.push({ key: name, byteSize: size });
  }
  return found;
}

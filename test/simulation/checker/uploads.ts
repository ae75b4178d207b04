import type { Generation } from '../../../core/generation/generation.js';
import type { Settings } from '../../../core/settings.js';
import type { Upload, UploadRecord } from '../../../core/uploads/upload.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { checkReference } from '../../history/access.js';
import { checkCompletion, checkReady, type ObservedBytes } from '../../history/uploads.js';
import { changedMembers, same } from '../../history/values.js';
import { type Answer, type Asked, violation } from '../observed.js';
import type { EffectOf, Handlers } from './calls.js';
import type { Standing } from './claims.js';
import { demandNone } from './event-order.js';
import type { GenerationListener, Step } from './generations.js';
import type { GuardedObjects } from './guarded-objects.js';
import { canBeDue, type ProcessClocks } from './process-clocks.js';

const MAY_CHANGE = new Set([
  'version',
  'status',
  'objectKey',
  'abandonedKeys',
  'ready',
  'lastUsedAt',
  'stagingRemovedAt',
  'dueAt',
]);
const NEXT: Readonly<Record<Upload['status'], readonly Upload['status'][]>> = {
  prepared: ['prepared', 'ready', 'removing'],
  ready: ['ready', 'removing'],
  removing: ['removing'],
};

interface SentBytes extends ObservedBytes {
  readonly beginning: string;
}

/**
 * Invariant 16, and 17 as far as it is about files: a ready upload matches the sent and declared bytes, and remains so.
 */
export class Uploads implements GenerationListener {
  private readonly records = new Map<string, UploadRecord>();
  /** The bytes at each upload's target according to the answers to clients. */
  private readonly sentTo = new Map<string, SentBytes[]>();
  /** Generations that have not ended, by the uploads they refer to. */
  private readonly usedBy = new Map<string, Set<string>>();

  constructor(
    private readonly settings: Settings,
    private readonly clocks: ProcessClocks,
    private readonly objects: GuardedObjects,
    private readonly onPrepared: (upload: Upload) => void,
  ) {}

  /** Ids that clients asked to have deleted. */
  private readonly wantedGone = new Set<string>();
  private isQuiet = false;

  readonly handlers: Handlers = {
    'uploads.insert': ({ args: [record], result }) => {
      const isFree = !this.records.has(record.uploadId);
      if (result.inserted !== isFree)
        throw violation`16: upload ${record.uploadId} was ${result.inserted ? 'inserted over another one' : 'refused, and free'}`;
      if (!result.inserted) return;
      this.records.set(record.uploadId, record);
      if (record.kind !== 'upload') {
        if (record.kind !== 'void') throw violation`16: upload ${record.uploadId} was inserted as ${record.kind}`;
        return;
      }
      if (record.status !== 'prepared' || record.ready !== undefined || record.objectKey !== undefined)
        throw violation`16: upload ${record.uploadId} was inserted ${record.status}`;
      this.onPrepared(record);
    },
    'uploads.replace': async (effect) => {
      if (effect.result === 'applied') await this.replaced(effect);
    },
    'uploads.remove': ({ args: [uploadId], result }) => {
      if (result !== 'applied') return;
      const record = this.records.get(uploadId);
      if (record === undefined || record.kind === 'upload')
        throw violation`16: upload ${uploadId} was removed from the store while it is ${record?.kind}`;
      this.records.delete(uploadId);
    },
  };

  record(uploadId: string): UploadRecord | undefined {
    return this.records.get(uploadId);
  }

  standingAt(uploadId: string): Standing {
    const record = this.records.get(uploadId);
    if (!record) return 'nothing';
    return record.kind === 'void' ? 'precluded' : 'effect';
  }

  quiet(): void {
    this.isQuiet = true;
  }

  sent(uploadId: string, bytes: Uint8Array, status: number): void {
    if (status !== 200) return;
    const beginning = Buffer.from(bytes.subarray(0, 40)).toString('utf8');
    const sent = { sha256: sha256Of(bytes), byteSize: bytes.byteLength, beginning };
    this.sentTo.set(uploadId, [...(this.sentTo.get(uploadId) ?? []), sent]);
  }

  /** References are ready uploads of the same App, and the generation describes them correctly. */
  async inserted({ generationId, accountId, appId, references }: Generation): Promise<void> {
    for (const { uploadId, objectKey, sha256, byteSize } of references) {
      const record = this.records.get(uploadId);
      const owner = record?.accountId === accountId ? record.appId : undefined;
      demandNone(checkReference(`generation ${generationId}`, appId, uploadId, owner));
      const isDeleted = this.wantedGone.has(uploadId) && (record?.kind === 'expired' || isRemoving(record));
      if (isDeleted) throw violation`26: generation ${generationId} uses upload ${uploadId}, which was deleted before`;
      // An upload whose retention ended between the check and the insert is reported missing when the generation
      // starts.
      if (record?.kind !== 'upload' || record.status === 'removing') continue;
      const isSame =
        record.status === 'ready' &&
        record.objectKey === objectKey &&
        record.ready?.sha256 === sha256 &&
        record.byteSize === byteSize;
      if (!isSame)
        throw violation`16: generation ${generationId} uses upload ${uploadId}, which is ${record.status}, not as it was checked`;
      await this.objects.requireStanding(objectKey);
      // A mark of use may be lost; without faults the store keeps it.
      if (this.isQuiet) this.usedBy.set(uploadId, (this.usedBy.get(uploadId) ?? new Set()).add(generationId));
    }
  }

  /** A generation fails for a missing reference only when one is missing. */
  async stepped({ event, next }: Step): Promise<void> {
    if (next.completedAt !== undefined)
      for (const { uploadId } of next.references) this.usedBy.get(uploadId)?.delete(next.generationId);
    if (event !== 'give-up' || next.error?.code !== 'INPUT_INVALID') return;
    for (const { objectKey } of next.references) if (!(await this.objects.isThere(objectKey))) return;
    throw violation`16: generation ${next.generationId} was given up for a missing reference, and none is`;
  }

  asked({ request }: Asked): void {
    if (request.operation === 'delete-upload') this.wantedGone.add(request.uploadId.toLowerCase());
  }

  async served(asked: Asked, answer: Answer): Promise<void> {
    if (answer.outcome !== 'success') return;
    const { request, party, number } = asked;
    if (request.operation === 'delete-upload') await this.requireGone(request.uploadId, number);
    if (request.operation !== 'complete' || !party) return;
    // The rule about foreign ids checks that it belongs to the party that completed it.
    const uploadId = request.uploadId.toLowerCase();
    const record = this.records.get(uploadId);
    const declared = request.body['sha256'];
    const completion = { told: `request ${number}`, uploadId, declared, data: answer.data };
    demandNone(checkCompletion(completion, record?.kind === 'expired' ? 'retired' : asUpload(record)));
  }

  /** Its bytes are gone by the time of the answer. */
  private async requireGone(uploadId: string, number: number): Promise<void> {
    const record = this.records.get(uploadId.toLowerCase());
    if (record?.kind === 'upload' && record.status !== 'removing')
      throw violation`26: request ${number} was told that upload ${uploadId} is deleted, and it stands`;
    const key = record?.kind === 'upload' ? record.objectKey : undefined;
    if (key !== undefined && (await this.objects.isThere(key)))
      throw violation`26: upload ${uploadId} was deleted, and ${key} outlived the answer to ${number}`;
  }

  private async replaced({
    args: [next, expectedVersion],
    at,
    process,
    processNow,
  }: EffectOf<'uploads.replace'>): Promise<void> {
    const { uploadId } = next;
    const before = this.records.get(uploadId);
    const isNext = before?.version === expectedVersion && next.version === expectedVersion + 1;
    if (!isNext)
      throw violation`16: upload ${uploadId} went from version ${before?.version} to ${next.version}, by a change made for ${expectedVersion}`;
    this.records.set(uploadId, next);
    if (before.kind !== 'upload') {
      // A failed removal is retried later.
      const { version: _before, dueAt: dueBefore, ...kept } = before;
      const { version: _next, dueAt, ...stays } = next;
      if (!same(kept, stays) || dueAt <= dueBefore)
        throw violation`16: upload ${uploadId} came back from ${before.kind}, or is due earlier`;
      return;
    }
    if (next.kind !== 'upload') {
      if (next.kind !== 'expired' || before.status !== 'removing' || !canBeDue(before.expiresAt, at))
        throw violation`16: upload ${uploadId} became ${next.kind} while ${before.status}, and its target ends at ${before.expiresAt}`;
      return;
    }

    if (!NEXT[before.status].includes(next.status))
      throw violation`16: upload ${uploadId} went from ${before.status} to ${next.status}`;
    const changed = changedMembers(before, next).filter(
      (name) =>
        !MAY_CHANGE.has(name) ||
        (before.status !== 'prepared' && ['ready', 'objectKey', 'abandonedKeys'].includes(name)),
    );
    if (changed.length !== 0)
      throw violation`16: upload ${uploadId} was ${before.status}, and its ${changed.join(', ')} changed`;
    if (next.status === 'removing' && before.status !== 'removing') {
      const isDeletion = this.wantedGone.has(uploadId) && before.lastUsedAt === undefined;
      if (!isDeletion && !canBeDue(before.dueAt, at))
        throw violation`16: upload ${uploadId} was kept until ${before.dueAt}, and ${process} removes it at ${processNow} by its clock`;
      const keptUntil = this.keptUntil(before);
      if (!isDeletion && !canBeDue(keptUntil, at))
        throw violation`16: upload ${uploadId} was to be kept until ${keptUntil}, and ${process} removes it at ${processNow} by its clock`;
      const [user] = this.usedBy.get(uploadId) ?? [];
      if (user !== undefined && this.clocks.isSteady(process, at))
        throw violation`16: upload ${uploadId} is being removed, and generation ${user} needs it`;
      if (before.objectKey !== undefined) this.objects.release(before.objectKey);
    }
    if (next.stagingRemovedAt !== before.stagingRemovedAt) {
      const isDue = before.stagingRemovedAt === undefined && canBeDue(before.expiresAt, at);
      if (!isDue)
        throw violation`16: the target of upload ${uploadId} was swept at ${processNow} by the clock of ${process}, and was good until ${before.expiresAt}`;
    }
    if (next.status === 'ready' && before.status === 'prepared') await this.becomesReady(next);
  }

  private keptUntil({ createdAt, ready, lastUsedAt }: Upload): number {
    const { uploadRetentionMs } = this.settings;
    if (ready === undefined) return createdAt + uploadRetentionMs;
    return Math.max(ready.at + uploadRetentionMs, lastUsedAt === undefined ? 0 : lastUsedAt + 2 * uploadRetentionMs);
  }

  private async becomesReady(upload: Upload): Promise<void> {
    const { uploadId, objectKey, ready, byteSize } = upload;
    const sent = this.sentTo.get(uploadId) ?? [];
    demandNone(checkReady(upload, sent));
    if (objectKey === undefined || ready === undefined) return;
    if (upload.stagingRemovedAt !== undefined)
      throw violation`16: upload ${uploadId} is ready after its target was swept`;
    if (byteSize > this.settings.maxUploadBytes)
      throw violation`16: upload ${uploadId} is ready with ${byteSize} bytes`;
    const { beginning = '' } = sent.find(({ sha256 }) => sha256 === ready.sha256) ?? {};
    // The first bytes of simulated media state their type.
    if (!beginning.startsWith(`PLAIN ${upload.mediaType} `))
      throw violation`16: upload ${uploadId} was declared as ${upload.mediaType}, and is ready as ${beginning}`;
    await this.objects.guard({ objectKey, sha256: ready.sha256, byteSize, of: `upload ${uploadId}` });
  }
}

function isRemoving(record: UploadRecord | undefined): boolean {
  return record?.kind === 'upload' && record.status === 'removing';
}

function asUpload(record: UploadRecord | undefined): Upload | undefined {
  return record?.kind === 'upload' ? record : undefined;
}

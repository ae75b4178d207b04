import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import type { UnchargedContent } from '../../core/generation/retention.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DueAfter, GenerationStore } from '../../core/ports/generation-store.js';
import type { MongoConnection } from './connection.js';
import { uuidOf } from './uuid-binary.js';
import { VersionedDocuments, type RecordDocument } from './versioned-documents.js';

interface GenerationDocument extends RecordDocument {
  readonly kind: GenerationRecord['kind'];
  /** Null where a tombstone has no account or App: it is never listed. */
  readonly account: UUID | null;
  readonly app: UUID | null;
  /** Only while it counts for its account. */
  readonly unchargedBytes?: number;
}

/** Past every id, where the list of the newest begins. */
const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Generations in MongoDB. */
export class MongoGenerationStore implements GenerationStore {
  private readonly documents: VersionedDocuments<GenerationRecord, GenerationDocument>;

  constructor(connection: MongoConnection) {
    this.documents = new VersionedDocuments(connection, {
      collection: 'generations',
      byAttention: 'generations_by_attention',
      idOf: ({ generationId }) => generationId,
      fieldsOf: (record) => ({
        kind: record.kind,
        account: uuidOf(record.accountId),
        app: uuidOf(record.appId),
        ...unchargedFields(record),
      }),
    });
  }

  insert(
    record: GenerationRecord,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: GenerationRecord }> {
    return this.documents.insert(record);
  }

  read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    return this.documents.read(generationId, call);
  }

  replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.replace(next, expectedVersion);
  }

  remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.remove(generationId, expectedVersion);
  }

  async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    return this.documents.due(now, limit, after && { dueAt: after.dueAt, id: after.generationId });
  }

  async list(
    accountId: string | undefined,
    appId: string | undefined,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Generation>> {
    const limit = checkedLimit(page.limit) + 1;
    const before = uuidOf(page.cursor ?? AFTER_ALL_IDS);
    const [account, app] = [accountId, appId].map((id) => (id === undefined ? undefined : uuidOf(id)));
    if (account === null || before === null || app === null) return { items: [] };
    const filter = {
      kind: 'generation',
      _id: { $lt: before },
      ...(account === undefined ? {} : { account }),
      ...(app === undefined ? {} : { app }),
    };
    const found =
      account === undefined
        ? await this.documents.findNewest(filter, limit, call)
        : await this.documents.find(filter, { sort: { _id: -1 }, limit, hint: 'generations_by_account' }, call);
    return pageOf(found as Generation[], page, (generation) => generation.generationId);
  }

  async uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent> {
    const account = uuidOf(accountId);
    if (account === null) return { generations: 0, bytes: 0 };
    const [generations = 0, bytes = 0] = await this.documents.sums(
      { account, unchargedBytes: { $gt: 0 } },
      ['unchargedBytes'],
      'generations_uncharged',
      call,
    );
    return { generations, bytes };
  }
}

function unchargedFields(record: GenerationRecord): Pick<GenerationDocument, 'unchargedBytes'> {
  return record.kind === 'generation' && record.unchargedBytes !== undefined
    ? { unchargedBytes: record.unchargedBytes }
    : {};
}

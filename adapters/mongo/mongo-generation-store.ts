import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { UnchargedContent } from '../../core/generation/decide.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type {
  AppGenerations,
  DueAfter,
  GenerationStore,
  Insertion,
  ListedField,
  ListedGenerations,
} from '../../core/ports/stores.js';
import { cursorAt, placeOf } from '../created-cursor.js';
import type { MongoConnection, OrderedWrite } from './connection.js';
import { listByCreation, type RecordDocument, uuidOf, VersionedDocuments } from './documents.js';

/** The fields by which an App's generations are listed. Tombstones have none of it, and so has what an older release wrote. */
interface ListedFields {
  readonly createdAt?: number;
  readonly status?: string;
  readonly model?: string;
  readonly trace?: string;
}

interface GenerationDocument extends RecordDocument, ListedFields {
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
        ...listedFields(record),
      }),
    });
  }

  insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    return this.documents.insert(record);
  }

  /** The insert as one of several writes of a command. */
  insertion(record: GenerationRecord): OrderedWrite {
    return this.documents.insertion(record);
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

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    if (wanted.of === 'app') return this.listApp(wanted, page, call);
    const limit = checkedLimit(page.limit) + 1;
    const before = uuidOf(page.cursor ?? AFTER_ALL_IDS);
    const account = wanted.of === 'all' ? undefined : uuidOf(wanted.accountId);
    if (account === null || before === null) return { items: [] };
    const filter = { kind: 'generation', _id: { $lt: before } };
    const found =
      account === undefined
        ? await this.documents.findNewest(filter, limit, call)
        : await this.documents.find(
            { ...filter, account },
            { sort: { _id: -1 }, limit, hint: 'generations_by_account' },
            call,
          );
    return pageOf(found as Generation[], page, (generation) => generation.generationId);
  }

  private async listApp(
    { appId, only, ...bounds }: AppGenerations,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Generation>> {
    const app = uuidOf(appId);
    if (app === null) return { items: [] };
    const { hint, field } = only === undefined ? { hint: 'generations_by_app', field: {} } : byField(only);
    const wanted = { filter: { kind: 'generation', app, ...field }, hint, ...bounds };
    const found = await listByCreation(this.documents, wanted, page, call);
    return pageOf(found as Generation[], page, (g) => cursorAt(placeOf(g)));
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

export function listedFields(record: GenerationRecord): ListedFields {
  if (record.kind !== 'generation') return {};
  const { createdAt, status, modelKey, clientTraceId } = record;
  return { createdAt, status, model: modelKey, ...(clientTraceId === undefined ? {} : { trace: clientTraceId }) };
}

const BY_FIELD: Readonly<Record<ListedField, { readonly hint: string; readonly name: 'status' | 'model' | 'trace' }>> =
  {
    status: { hint: 'generations_by_status', name: 'status' },
    modelKey: { hint: 'generations_by_model', name: 'model' },
    clientTraceId: { hint: 'generations_by_trace', name: 'trace' },
  };

function byField({ field, value }: NonNullable<AppGenerations['only']>) {
  const { hint, name } = BY_FIELD[field];
  return { hint, field: { [name]: value } };
}

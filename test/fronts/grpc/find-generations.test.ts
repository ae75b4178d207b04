// Goal: operators list and search the generations of one account over all its Apps; neither another account's nor a deleted
// one is among them, and prompts are shown only where the operator allows that.
// Method: a whole service in this process with records that are inserted into its store, called over a real connection.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { OPERATOR_SCOPES } from '../../../apps/grpc/callers.js';
import { timestamp } from '../../../apps/grpc/enums.js';
import { GenerationStatus } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Modality } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import {
  type FindGenerationsRequestSchema,
  type FindGenerationsResponse,
  Operations,
} from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { SCOPES } from '../../../core/access/credential.js';
import { createApp } from '../../../core/access/manage.js';
import type { Generation } from '../../../core/generation/generation.js';
import { leastIdAt } from '../../../core/ids.js';
import { newOwner } from '../../fixtures/memory-stores.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { errorOf, GrpcHarness, refusalOf, SERVICES } from './grpc-harness.js';

type Asked = MessageInitShape<typeof FindGenerationsRequestSchema>;

const CREATED_AT = 1_700_000_000_000;
/** An id whose time is that of the fixtures. */
const idAt = (n: number): string => `${leastIdAt(CREATED_AT).slice(0, 24)}${uuidAt(n).slice(24)}`;

const at = (n: number) => timestamp(CREATED_AT + n);

describe('generations of an account for operators', () => {
  let grpc: GrpcHarness;
  let otherApp: string;
  const open = async (showsRequests = true): Promise<void> => {
    grpc = await GrpcHarness.open({ settings: { showsRequests } });
    ({ appId: otherApp } = await createApp(grpc.harness.context, { accountId: grpc.owner.accountId, name: 'other' }));
  };
  beforeEach(() => open());
  afterEach(() => grpc.close());

  const insert = async (n: number, values: Partial<Generation> = {}): Promise<void> => {
    const record = aGeneration(n, { generationId: idAt(n), ...grpc.owner, createdAt: CREATED_AT + n, ...values });
    await grpc.harness.context.generations.insert(record);
  };
  const find = (asked: Asked = {}, as = 'all'): Promise<FindGenerationsResponse> =>
    grpc.call(Operations.method.findGenerations, { accountId: grpc.owner.accountId, ...asked }, as);
  const idsOf = ({ generations }: FindGenerationsResponse): readonly string[] =>
    generations.map(({ generation }) => generation?.generationId ?? '');
  const refused = async (asked: Asked, as?: string): Promise<readonly unknown[]> =>
    refusalOf(await errorOf(find(asked, as)));

  it('are refused without the scope for content', async () => {
    SERVICES['no-content'] = {
      name: 'no-content',
      scopes: [...SCOPES, ...OPERATOR_SCOPES].filter((scope) => scope !== 'content:read'),
    };
    try {
      expect(await refused({}, 'no-content')).to.deep.equal([Status.PERMISSION_DENIED, 'DEVELOPER_SCOPE_INSUFFICIENT']);
    } finally {
      delete SERVICES['no-content'];
    }
  });

  it('are not found for an unknown account, and for an App of another one', async () => {
    const notFound = [Status.NOT_FOUND, 'NOT_FOUND'];
    expect(await refused({ accountId: uuidAt(99) })).to.deep.equal(notFound);
    const stranger = await newOwner(grpc.harness.context, 'stranger', 0);
    for (const appId of [stranger.appId, uuidAt(99)]) {
      expect(await refused({ appId })).to.deep.equal(notFound);
      expect(await refused({ appId, q: 'fox' })).to.deep.equal(notFound);
    }
  });

  it('are refused with a token that another request has given', async () => {
    for (const n of [1, 2]) await insert(n, { prompt: 'a fox' });
    const { nextPageToken: pageToken } = await find({ pageSize: 1 });
    const { nextPageToken: ofSearch } = await find({ pageSize: 1, q: 'fox' });
    const stranger = await newOwner(grpc.harness.context, 'stranger', 0);
    const others: readonly Asked[] = [
      { pageToken, accountId: stranger.accountId },
      { pageToken, appId: otherApp },
      { pageToken, modality: Modality.VIDEO },
      { pageToken, q: 'fox' },
      { pageToken: ofSearch },
      { pageToken: ofSearch, q: 'foxes' },
    ];
    for (const asked of others)
      expect(await refused(asked), JSON.stringify(asked)).to.deep.equal([Status.INVALID_ARGUMENT, 'FIELD_INVALID']);
  });

  it('are refused or empty with a forged position in a token', async () => {
    for (const n of [1, 2]) await insert(n, { prompt: 'a fox', clientTraceId: 'order-7' });
    for (const asked of [{}, { q: 'fox' }, { q: 'order-7' }]) {
      const { nextPageToken } = await find({ pageSize: 1, ...asked });
      const [list = ''] = Buffer.from(nextPageToken, 'base64url').toString().split('\n');
      for (const mode of ['', 'm', 'f', 't', 'i', 'x'])
        for (const place of ['', 'x', '.', 'NaN.x', '1e999.', '-1.', "' OR 1=1 --", '\0', '\uD7FF', 'f'.repeat(900)]) {
          const pageToken = Buffer.from(`${list}\n${mode}${place}`).toString('base64url');
          const outcome = await find({ pageSize: 1, ...asked, pageToken }).then(
            () => 'OK',
            (error: { readonly code: number }) => Status[error.code],
          );
          expect(outcome, `${mode}${place}`).to.be.oneOf(['OK', 'INVALID_ARGUMENT']);
        }
    }
  });

  it('are at most 50 per page, whatever is requested', async () => {
    for (let n = 1; n <= 51; n += 1) await insert(n, { prompt: 'a fox' });
    for (const pageSize of [0, 51, 2_147_483_647])
      for (const asked of [{}, { q: 'fox' }]) {
        const first = await find({ pageSize, ...asked });
        expect(first.generations).to.have.length(50);
        const second = await find({ pageSize, ...asked, pageToken: first.nextPageToken });
        expect([...idsOf(first), ...idsOf(second)]).to.deep.equal(Array.from({ length: 51 }, (_, i) => idAt(51 - i)));
        expect(second.nextPageToken).to.equal('');
      }
  });

  it('are those of all Apps and of no other account, without deleted ones', async () => {
    const stranger = await newOwner(grpc.harness.context, 'stranger', 0);
    await insert(1, { prompt: 'a fox' });
    await insert(2, { prompt: 'a fox', appId: otherApp });
    await insert(3, { prompt: 'a fox', ...stranger });
    await insert(4, { prompt: 'a fox', deletedAt: CREATED_AT + 5 });
    for (const asked of [{}, { q: 'fox' }]) expect(idsOf(await find(asked))).to.deep.equal([idAt(2), idAt(1)]);
    expect(idsOf(await find({ q: idAt(3) }))).to.deep.equal([]);
    expect(idsOf(await find({ appId: otherApp.toUpperCase() }))).to.deep.equal([idAt(2)]);
  });

  it('are filtered by each field, with and without a query', async () => {
    await insert(1, { prompt: 'a red fox', status: 'succeeded', clientTraceId: 'order-7' });
    await insert(2, { prompt: 'a blue fox', status: 'failed', modelKey: 'film', modality: 'video' });
    await insert(3, { prompt: 'a fox', status: 'succeeded', credentialId: 'service:studio', modelKey: 'film' });
    const cases: readonly (readonly [asked: Asked, found: readonly number[]])[] = [
      [{ status: GenerationStatus.SUCCEEDED }, [3, 1]],
      [{ modelKey: 'film' }, [3, 2]],
      [{ modelKey: 'film', status: GenerationStatus.FAILED }, [2]],
      [{ modality: Modality.VIDEO }, [2]],
      [{ credentialId: 'service:studio' }, [3]],
      [{ createdAfter: at(2) }, [3, 2]],
      [{ createdBefore: at(2) }, [1]],
    ];
    for (const [asked, found] of cases)
      for (const query of [{}, { q: 'fox' }])
        expect(idsOf(await find({ ...asked, ...query })), JSON.stringify(found)).to.deep.equal(found.map(idAt));
    expect(idsOf(await find({ q: 'BL' }))).to.deep.equal([idAt(2)]);
    expect(idsOf(await find({ q: 'order-7' }))).to.deep.equal([idAt(1)]);
    expect(idsOf(await find({ q: idAt(3) }))).to.deep.equal([idAt(3)]);
  });

  it('have their prompt and their outputs', async () => {
    const values = {
      status: 'succeeded',
      credentialId: 'service:studio',
      prompt: 'a fox',
      negativePrompt: 'blur',
    } as const;
    await insert(1, values);
    const [found] = (await find()).generations;
    const [output] = aGeneration(1).outputs;
    const [shown] = found?.outputs ?? [];
    expect(found).to.deep.include({ prompt: 'a fox', negativePrompt: 'blur', credentialId: 'service:studio' });
    expect(found?.generation).to.include({ generationId: idAt(1), ...grpc.owner, status: GenerationStatus.SUCCEEDED });
    expect(shown).to.include({ mediaId: output?.mediaId, width: output?.widthPx, height: output?.heightPx });
    expect(shown?.duration && durationMs(shown.duration)).to.equal(output?.durationMs);
    expect(shown?.url).to.match(/^\w+:/);
  });

  it('have no prompt once it is removed', async () => {
    await insert(1, { status: 'failed', prompt: '', contentRemovedAt: CREATED_AT + 5 });
    const [found] = (await find()).generations;
    expect(found).not.to.have.any.keys('prompt', 'negativePrompt');
  });

  it('have no prompt, and are not found by it, where requests are not shown', async () => {
    await grpc.close();
    await open(false);
    await insert(1, { prompt: 'a fox', clientTraceId: 'order-7' });
    for (const asked of [{}, { q: 'order-7' }, { q: idAt(1) }]) {
      const [found] = (await find(asked)).generations;
      expect(found?.generation?.generationId).to.equal(idAt(1));
      expect(found).not.to.have.any.keys('prompt', 'negativePrompt');
    }
    expect(await refused({ q: 'fox' })).to.deep.equal([Status.INVALID_ARGUMENT, 'FIELD_INVALID']);
  });
});

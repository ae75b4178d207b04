import { expect } from 'chai';
import { createApp, createKey, suspendAccount } from '../../../core/access/manage.js';
import type { Generation } from '../../../core/generation/generation.js';
import { leastIdAt } from '../../../core/ids.js';
import { disconnect } from '../../../core/people/grants.js';
import { consoleApp, revokeAccountKey } from '../../../core/people/own-keys.js';
import { aGeneration, aTombstone, uuidAt } from '../../fixtures/stored-records.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, type ConsoleClient, stranger } from './console-harness.js';

// Goal: the people of an account see the generations of all its Apps, and nobody else sees any of them.
// Method: a whole service over HTTP in this process, with records that are inserted into its store.

const UNKNOWN = uuidAt(999_999);
/** An id whose time is that of the fixtures. */
const idAt = (n: number): string => `${leastIdAt(1_700_000_000_000).slice(0, 24)}${uuidAt(n).slice(24)}`;

interface Shown {
  readonly generation_id: string;
  readonly status: string;
  readonly outputs: readonly { readonly url: string; readonly width: number; readonly height: number }[];
  readonly app: { readonly id: string; readonly name: string | null };
  readonly creator: { readonly kind: string; readonly id?: string; readonly name?: string };
  readonly prompt: string | null;
  readonly negative_prompt?: string;
  readonly thumbnails: readonly object[];
  readonly outputs_removed_at: string | null;
}

describe('the generations of an account on its page', () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let appId: string;

  const open = async (showsRequests = true): Promise<void> => {
    service = await OAuthHarness.open({}, { settings: { showsRequests } });
    const { context } = service.harness;
    ada = await clientOf(service, service.person);
    ({ appId } = await createApp(context, { accountId: service.person.accountId, name: 'studio' }));
  };
  beforeEach(() => open());
  afterEach(() => service.close());

  const insert = async (n: number, values: Partial<Generation> = {}): Promise<Generation> => {
    const record = aGeneration(n, { generationId: idAt(n), accountId: service.person.accountId, appId, ...values });
    await service.harness.context.generations.insert(record);
    return record;
  };
  const shownIn = ({ data, status, message }: ConsoleAnswer): readonly Shown[] => {
    expect(status, message).to.equal(200);
    return data['generations'] as readonly Shown[];
  };
  const idsOf = async (query = ''): Promise<readonly string[]> =>
    shownIn(await ada.get(`/generations${query}`)).map((one) => one.generation_id);
  /** The ids of every page, each requested with the cursor of the one before. */
  const allOf = async (query: string): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let cursor = ''; ;) {
      const answer = await ada.get(`/generations?${query}${cursor}`);
      ids.push(...shownIn(answer).map((one) => one.generation_id));
      const next = answer.data['next_cursor'] as string | undefined;
      if (next === undefined) return ids;
      cursor = `&cursor=${next}`;
    }
  };

  describe('refuses', () => {
    const REFUSED: readonly (readonly [query: string, pointer: string])[] = [
      ['status=done', '/status'],
      ['status=', '/status'],
      ['modality=audio', '/modality'],
      ['model_key=', '/model_key'],
      [`model_key=${'x'.repeat(201)}`, '/model_key'],
      [`credential_id=${'x'.repeat(201)}`, '/credential_id'],
      ['created_after=yesterday', '/created_after'],
      ['created_before=2026-02-31T00:00:00Z', '/created_before'],
      ['limit=0', '/limit'],
      ['limit=51', '/limit'],
      ['limit=ten', '/limit'],
      ['cursor=', '/cursor'],
      ['cursor=x', '/cursor'],
      [`cursor=${'x'.repeat(2_001)}`, '/cursor'],
      ['account_id=x', '/account_id'],
      ['q=', '/q'],
      ['q=%20%20', '/q'],
      [`q=${'x'.repeat(201)}`, '/q'],
      [`q=${'x'.repeat(10_000)}`, '/q'],
      ['q=%3F!...', '/q'],
      ['q=red%00fox', '/q'],
      ['q=red%1Bfox', '/q'],
      ['q=red%0Afox', '/q'],
      ['q=red&q=fox', '/q'],
      ['status=failed&status=failed', '/status'],
    ];
    for (const [query, pointer] of REFUSED) {
      it(`${query.slice(0, 40)} with its field`, async () => {
        const { status, code, text } = await ada.get(`/generations?${query}`);
        expect([status, code], text).to.deep.equal([422, 'FIELD_INVALID']);
        expect(text).to.include(`"${pointer}"`);
      });
    }

    it('an App of another account, an unknown one and a text that is not an id, with the same error', async () => {
      const other = await stranger(service);
      const foreign = await createApp(service.harness.context, { accountId: other.accountId, name: 'hers' });
      for (const id of [foreign.appId, UNKNOWN, 'studio'])
        expect(await ada.get(`/generations?app_id=${id}`), id).to.include({
          status: 404,
          code: 'NOT_FOUND',
          message: 'There is no such App.',
        });
    });

    it('a cursor of another filter, and of another account', async () => {
      for (let n = 10; n < 13; n += 1) await insert(n);
      const { data } = await ada.get('/generations?limit=1');
      const cursor = String(data['next_cursor']);
      expect(shownIn(await ada.get(`/generations?cursor=${cursor}`))).to.have.length(2);
      const eve = await clientOf(service, await stranger(service));
      for (const answer of [
        await ada.get(`/generations?status=failed&cursor=${cursor}`),
        await ada.get(`/generations?app_id=${appId}&cursor=${cursor}`),
        await ada.get(`/generations?q=fox&cursor=${cursor}`),
        await eve.get(`/generations?cursor=${cursor}`),
      ])
        expect(answer).to.include({ status: 422, code: 'FIELD_INVALID' });
    });
  });

  it('are those of every App, newest first', async () => {
    const { context } = service.harness;
    const { accountId } = service.person;
    const { appId: own } = await consoleApp(context, accountId);
    await insert(10);
    await insert(12, { appId: own });
    await insert(11, { appId: (await createApp(context, { accountId, name: 'other' })).appId });
    expect(await idsOf()).to.deep.equal([12, 11, 10].map((n) => idAt(n)));
    expect(await idsOf(`?app_id=${own}`)).to.deep.equal([idAt(12)]);
  });

  it('have neither those of other accounts nor deleted ones nor tombstones', async () => {
    const { accountId } = await stranger(service);
    const { context } = service.harness;
    const foreign = await createApp(context, { accountId, name: 'hers' });
    await insert(10, { accountId, appId: foreign.appId });
    await insert(11, { deletedAt: 1, prompt: '' });
    await context.generations.insert({ ...aTombstone(12), accountId: service.person.accountId, appId });
    await insert(13);
    expect(await idsOf()).to.deep.equal([idAt(13)]);
  });

  it('are filtered by each field and by several', async () => {
    const [credentialId, other] = [uuidAt(501), uuidAt(502)];
    await insert(10, { status: 'failed', modelKey: 'a', credentialId });
    await insert(11, { status: 'succeeded', modelKey: 'a', credentialId: other });
    await insert(12, { status: 'succeeded', modelKey: 'b', credentialId, modality: 'video' });
    const at = new Date(1_700_000_000_011).toISOString();
    const cases: readonly (readonly [query: string, found: readonly number[]])[] = [
      ['status=succeeded', [12, 11]],
      ['model_key=a', [11, 10]],
      [`credential_id=${credentialId}`, [12, 10]],
      [`credential_id=${credentialId.toUpperCase()}`, [12, 10]],
      [`credential_id=${UNKNOWN}`, []],
      ['modality=video', [12]],
      [`created_after=${at}`, [12, 11]],
      [`created_before=${at}`, [10]],
      ['status=succeeded&model_key=a', [11]],
      ['status=failed&model_key=a', [10]],
      [`status=failed&model_key=a&credential_id=${other}`, []],
      [`created_after=${at}&modality=image&app_id=$APP`, [11]],
    ];
    for (const [query, found] of cases)
      expect(await idsOf(`?${query.replace('$APP', appId)}`), query).to.deep.equal(found.map((n) => idAt(n)));
  });

  it('are the same in pages of any size, also those of one millisecond in several Apps', async () => {
    const { context } = service.harness;
    const { accountId } = service.person;
    const apps = [appId, (await createApp(context, { accountId, name: 'other' })).appId];
    for (let n = 10; n < 33; n += 1)
      await insert(n, { appId: apps[n % 2] ?? '', createdAt: 1_700_000_000_000 + Math.floor(n / 7) });
    const whole = Array.from({ length: 23 }, (_, index) => idAt(32 - index));
    for (const limit of [1, 4, 11, 50]) expect(await allOf(`limit=${limit}`), `${limit}`).to.deep.equal(whole);
    expect(await allOf('limit=3&modality=image')).to.deep.equal(whole);
  });

  it('are complete for an account with very many Apps', async () => {
    const { context } = service.harness;
    const { accountId } = service.person;
    for (let n = 0; n < 101; n += 1) {
      const app = await createApp(context, { accountId, name: `app ${n}` });
      if (n % 10 === 0) await insert(10 + n, { appId: app.appId, status: n % 20 === 0 ? 'failed' : 'succeeded' });
    }
    expect(await allOf('limit=4')).to.have.length(11);
    expect(await allOf('limit=2&status=failed')).to.deep.equal([110, 90, 70, 50, 30, 10].map((n) => idAt(n)));
  });

  it('name their App and what created them, a revoked key and a disconnected program too', async () => {
    const { context } = service.harness;
    const { accountId, personId } = service.person;
    const { key } = await createKey(context, { appId, name: 'laptop' });
    await revokeAccountKey(context, accountId, key.keyId);
    await service.connect(await service.signedIn(), await service.register({ client_name: 'a program' }));
    const [grant] = await context.artefacts.listOwned('grant', personId, 10);
    await disconnect(context, personId, grant?.id ?? '');
    const foreign = await stranger(service);
    await insert(10, { credentialId: key.keyId });
    await insert(11, { credentialId: grant?.id ?? '' });
    await insert(12, { credentialId: personId });
    await insert(13, { credentialId: 'service:billing' });
    const { credentialId: _, ...before } = aGeneration(14, { accountId, appId });
    await context.generations.insert(before);
    await insert(15, { credentialId: foreign.personId });
    const found = shownIn(await ada.get('/generations')).toReversed();
    expect(found.map(({ creator }) => creator)).to.deep.equal([
      { kind: 'key', id: key.keyId, name: 'laptop' },
      { kind: 'program', id: grant?.id, name: 'a program' },
      { kind: 'person', id: personId, name: 'ada@example.com' },
      { kind: 'service', id: 'service:billing', name: 'billing' },
      { kind: 'unknown' },
      { kind: 'unknown', id: foreign.personId },
    ]);
    for (const { app } of found) expect(app).to.deep.equal({ id: appId, name: 'studio' });
  });

  it('have their prompt, and the size of outputs that retention has removed', async () => {
    await insert(10, { outputsRemovedAt: 1_700_000_100_000, status: 'succeeded' });
    const [one] = shownIn(await ada.get('/generations'));
    expect(one?.prompt).to.equal(aGeneration(10).prompt);
    expect(one?.negative_prompt).to.equal('blur');
    expect(one?.outputs_removed_at).to.equal(new Date(1_700_000_100_000).toISOString());
    const [output] = aGeneration(10).outputs;
    expect(one?.outputs[0]).to.include({ width: output?.widthPx, height: output?.heightPx });
  });

  it('have addresses of thumbnails in three sizes while their outputs are stored', async () => {
    const [output] = aGeneration(10).outputs;
    const outputs = output === undefined ? [] : [{ ...output, kind: 'image' as const }];
    const { generationId } = await insert(10, { status: 'succeeded', outputs });
    await insert(11, { status: 'succeeded', outputs, outputsRemovedAt: 1 });
    const [removed, kept] = shownIn(await ada.get('/generations'));
    expect(removed?.thumbnails).to.deep.equal([]);
    const { media_id: mediaId, ...urls } = (kept?.thumbnails[0] ?? {}) as Readonly<Record<string, string>>;
    expect(mediaId).to.equal(output?.mediaId);
    expect(Object.keys(urls)).to.deep.equal(['small', 'medium', 'large']);
    for (const url of Object.values(urls)) expect(url).to.match(new RegExp(`^/thumbnails/${generationId}/`));
  });

  describe('one by one', () => {
    it('have request, timeline, ledger and deliveries', async () => {
      const settledAt = 1_700_000_200_000;
      const { generationId } = await insert(10, {
        status: 'succeeded',
        runDeadlineAt: 1_700_000_100_000 + aGeneration(10).terms.runTimeoutMs,
        completedAt: 1_700_000_150_000,
        settledAt,
        reservedCredits: 4,
        chargedCredits: 3,
      });
      const { data, status } = await ada.get(`/generations/${generationId.toUpperCase()}`);
      expect(status).to.equal(200);
      expect(data).to.deep.include({
        generation_id: generationId,
        app_id: appId,
        app: { id: appId, name: 'studio' },
        deliveries: [],
        files: aGeneration(10).outputs.map((one) => ({ media_id: one.mediaId, byte_size: one.byteSize })),
        outputs_expire_at: new Date(
          1_700_000_150_000 + service.harness.context.settings.outputRetentionMs,
        ).toISOString(),
        ledger: [
          { kind: 'reserved', credits: 4, at: new Date(aGeneration(10).createdAt).toISOString() },
          { kind: 'charged', credits: 3, at: new Date(settledAt).toISOString() },
          { kind: 'released', credits: 1, at: new Date(settledAt).toISOString() },
        ],
      });
      expect(data['request']).to.deep.include({
        prompt: aGeneration(10).prompt,
        negative_prompt: 'blur',
        defaults: [],
      });
      expect((data['request'] as { references: unknown }).references).to.deep.equal([
        { upload_id: uuidAt(3), role: 'reference_image', media_type: 'image/png', byte_size: 3 },
      ]);
      const events = (data['timeline'] as readonly { readonly event: string }[]).map(({ event }) => event);
      expect(events.filter((event) => !['attempt', 'retry', 'cancel_requested'].includes(event))).to.deep.equal([
        'created',
        'started',
        'completed',
        'settled',
      ]);
    });

    it('return the same error if the id is unknown, of another account, or malformed', async () => {
      const other = await stranger(service);
      const foreign = await createApp(service.harness.context, { accountId: other.accountId, name: 'hers' });
      await insert(10, { accountId: other.accountId, appId: foreign.appId });
      const answers = await Promise.all([idAt(10), UNKNOWN, 'x'].map((id) => ada.get(`/generations/${id}`)));
      for (const { status, code, message } of answers)
        expect({ status, code, message }).to.deep.equal({
          status: 404,
          code: 'TASK_NOT_FOUND',
          message: 'There is no such generation.',
        });
    });

    it('are gone once they are deleted or past their retention', async () => {
      await insert(10, { deletedAt: 1 });
      const { accountId } = service.person;
      await service.harness.context.generations.insert({ ...aTombstone(11), kind: 'expired', accountId, appId });
      for (const id of [idAt(10), uuidAt(11)])
        expect(await ada.get(`/generations/${id}`)).to.include({ code: 'GENERATION_JOB_NOT_FOUND' });
    });
  });

  describe('search', () => {
    const withPrompts = async (): Promise<void> => {
      await insert(10, { prompt: 'a red fox at dawn', status: 'succeeded' });
      await insert(11, { prompt: 'A FOX, blue', status: 'failed', clientTraceId: 'order-7' });
      await insert(12, { prompt: '黒い猫', modelKey: 'other' });
    };

    it('finds them by words, prefixes and characters, together with filters', async () => {
      await withPrompts();
      const cases: readonly (readonly [query: string, found: readonly number[]])[] = [
        ['q=fox', [11, 10]],
        ['q=FO%20da', [10]],
        [`q=${encodeURIComponent('猫')}`, [12]],
        ['q=wolf', []],
        ['q=fox&status=failed', [11]],
        ['q=fox&model_key=other', []],
        [`q=fox&app_id=${appId}&created_before=${new Date(1_700_000_000_011).toISOString()}`, [10]],
      ];
      for (const [query, found] of cases)
        expect(await idsOf(`?${query}`), query).to.deep.equal(found.map((n) => idAt(n)));
      expect(await allOf('q=fox&limit=1')).to.deep.equal([idAt(11), idAt(10)]);
    });

    it('finds them by id, the beginning of an id, and trace id', async () => {
      await withPrompts();
      expect(await idsOf(`?q=${idAt(11)}`)).to.deep.equal([idAt(11)]);
      expect(await idsOf(`?q=${idAt(11).slice(0, 20)}`)).to.deep.equal([12, 11, 10].map((n) => idAt(n)));
      expect(await idsOf('?q=order-7')).to.deep.equal([idAt(11)]);
      expect(await idsOf('?q=order-7&status=succeeded')).to.deep.equal([]);
    });

    it('finds neither those of another account nor deleted ones', async () => {
      await withPrompts();
      const eve = await clientOf(service, await stranger(service));
      for (const q of ['fox', idAt(11), idAt(11).slice(0, 20), 'order-7'])
        expect(shownIn(await eve.get(`/generations?q=${q}`)), q).to.deep.equal([]);
      await insert(13, { prompt: 'a fox', deletedAt: 1 });
      expect(await idsOf('?q=fox')).to.deep.equal([idAt(11), idAt(10)]);
    });

    it('finds them only by id and trace id while requests are hidden', async () => {
      await service.close();
      await open(false);
      await withPrompts();
      expect(await idsOf(`?q=${idAt(11)}`)).to.deep.equal([idAt(11)]);
      expect(await idsOf('?q=order-7')).to.deep.equal([idAt(11)]);
      const { status, code, message } = await ada.get('/generations?q=fox');
      expect({ status, code, message }).to.deep.equal({
        status: 422,
        code: 'FIELD_INVALID',
        message: 'Prompts cannot be searched here; search for a generation id or a client_trace_id.',
      });
    });
  });

  it('do not show their requests if the operator has disabled that', async () => {
    await service.close();
    await open(false);
    const { generationId, prompt } = await insert(10);
    const [list, one] = [await ada.get('/generations'), await ada.get(`/generations/${generationId}`)];
    expect(shownIn(list)[0]).to.include({ prompt: null }).and.not.have.property('negative_prompt');
    expect(one.data).to.include({ prompt: null, request: null });
    for (const { text } of [list, one]) expect(text).not.to.include(prompt.slice(0, 10));
  });

  it('are refused while the account is suspended', async () => {
    const { generationId } = await insert(10);
    await suspendAccount(service.harness.context, service.person.accountId);
    for (const path of ['/generations', `/generations/${generationId}`])
      expect(await ada.get(path), path).to.include({ code: 'DEVELOPER_TOKEN_REVOKED' });
  });

  it('have no request once its content was removed', async () => {
    const { generationId } = await insert(10, { prompt: '', contentRemovedAt: 1, status: 'failed' });
    expect((await ada.get(`/generations/${generationId}`)).data).to.include({ prompt: null, request: null });
  });
});

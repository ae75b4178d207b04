import { expect } from 'chai';
import { Authenticator } from '../../../core/access/authenticate.js';
import { DEFAULT_SCOPES, isApiKeyShaped, SCOPES } from '../../../core/access/credential.js';
import {
  createAccount,
  createApp,
  createKey,
  expireKey,
  renameAccount,
  renameApp,
  resumeAccount,
  revokeKey,
  suspendAccount,
} from '../../../core/access/manage.js';
import { CallOver } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { adjustCredits, grantCredits } from '../../../core/credits/operate.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { eraseAccount } from '../../../core/erasure/request-erasure.js';
import type { ServiceError } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelOpenGenerations } from '../../../core/generation/end-generation.js';
import { changeGeneration } from '../../../core/generation/settle-generation.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { Gate, intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';

// Goal: operators' changes to access are validated, and a key that has ended stays ended.
// Method: the use cases on memory adapters, with valid and invalid input.

describe('access management', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('creates accounts without credits or holds', async () => {
    const account = await createAccount(harness.context, { name: '  Studio  ' });
    expect(account).to.include({
      name: 'Studio',
      currency: 'credits',
      version: 0,
      issued: 0,
      available: 0,
      reserved: 0,
      spent: 0,
      lastSequence: 0,
    });
    for (const name of ['', '   ', 'x'.repeat(101)])
      await expectCode('FIELD_INVALID', createAccount(harness.context, { name }));
  });

  it('creates Apps of existing accounts', async () => {
    await expectCode('OK', createApp(harness.context, { accountId: harness.caller.accountId, name: 'App' }));
    await expectCode('NOT_FOUND', createApp(harness.context, { accountId: 'nobody', name: 'App' }));
  });

  it('stores the first three and the last four characters of a secret, which open nothing', async () => {
    const { appId } = harness.caller;
    const { key, secret } = await createKey(harness.context, { appId, name: 'Key' });
    expect(key.hint).to.equal(`svc_live_${secret.slice(9, 12)}…${secret.slice(-4)}`);
    const { name: _name, ...stored } = (await harness.ports.credentials.findKey({ keyId: key.keyId }))!;
    const random = secret.slice('svc_live_'.length);
    for (let from = 0; from + 5 <= random.length; from += 1)
      expect(JSON.stringify(stored)).to.not.include(random.slice(from, from + 5));
    const authenticator = new Authenticator(harness.context);
    for (const text of [key.hint!, key.hint!.replace('…', ''), key.hint!.replace('…', 'x'.repeat(42))])
      await expectCode('DEVELOPER_TOKEN_INVALID', authenticator.authenticate(text), text);
    authenticator.close();
  });

  it('creates keys with the scopes of their default or those asked for, and no others', async () => {
    const { appId } = harness.caller;
    const { key, secret } = await createKey(harness.context, { appId, name: 'Key' });
    expect([key.scopes, isApiKeyShaped(secret), key.digest]).to.deep.equal([
      DEFAULT_SCOPES,
      true,
      harness.ports.digests.keyed(secret),
    ]);
    expect(
      (await createKey(harness.context, { appId, name: 'Key', scopes: ['credits:read', 'credits:read'] })).key.scopes,
    ).to.deep.equal(['credits:read']);
    expect((await createKey(harness.context, { appId, name: 'Key', scopes: SCOPES })).key.scopes).to.deep.equal(SCOPES);
    for (const scopes of [[], ['credits:write'], ['credits:read', '']])
      await expectCode('FIELD_INVALID', createKey(harness.context, { appId, name: 'Key', scopes }));
    await expectCode(
      'FIELD_INVALID',
      createKey(harness.context, { appId, name: 'Key', expiresAt: harness.clock.now() }),
    );
    for (const expiresAt of [Date.UTC(10_000, 0), 1e16, Infinity, NaN]) {
      await expectCode('FIELD_INVALID', createKey(harness.context, { appId, name: 'Key', expiresAt }), `${expiresAt}`);
      await expectCode('FIELD_INVALID', expireKey(harness.context, 'any', expiresAt), `${expiresAt}`);
    }
    await expectCode('NOT_FOUND', createKey(harness.context, { appId: 'none', name: 'Key' }));
  });

  it('revokes once, permanently', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    const first = await revokeKey(harness.context, key.keyId);
    harness.clock.jump(1_000);
    expect(await revokeKey(harness.context, key.keyId)).to.deep.equal(first);
    expect(await expireKey(harness.context, key.keyId, harness.clock.now() + 1_000)).to.include({
      revokedAt: first.revokedAt,
    });
    await expectCode('NOT_FOUND', revokeKey(harness.context, 'none'));
  });

  it('writes nothing for a call that is already over', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    const { accountId, appId } = harness.caller;
    // Its caller disconnects after the first read.
    const leaving = (): Context => {
      const call = new TestedCall();
      const leave: Interceptor = async (asked) => {
        const answer = await asked.proceed();
        call.end();
        return answer;
      };
      const { accounts, credentials } = harness.ports;
      return {
        ...harness.context,
        call,
        accounts: intercepted('accounts', accounts, leave),
        credentials: intercepted('credentials', credentials, leave),
      };
    };
    const left = [
      createAccount({ ...harness.context, call: TestedCall.over() }, { name: 'new' }),
      createApp(leaving(), { accountId, name: 'new' }),
      createKey(leaving(), { appId, name: 'new' }),
      revokeKey(leaving(), key.keyId),
      expireKey(leaving(), key.keyId, 5),
    ];
    for (const work of left) expect(await work.catch((error: unknown) => error)).to.be.instanceOf(CallOver);
    expect(await harness.ports.credentials.findKey({ keyId: key.keyId })).to.deep.equal(key);
    const page = { limit: 10 };
    expect([
      (await harness.ports.accounts.list(page)).items.length,
      (await harness.ports.credentials.listApps(accountId, page)).items.length,
      (await harness.ports.credentials.listKeys(accountId, page)).items.length,
    ]).to.deep.equal([1, 1, 1]);
  });

  it('loses neither of two concurrent changes', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    await Promise.all([revokeKey(harness.context, key.keyId), expireKey(harness.process(), key.keyId, 5)]);
    expect(await harness.ports.credentials.findKey({ keyId: key.keyId })).to.include({
      revokedAt: harness.clock.now(),
      expiresAt: 5,
      version: 3,
    });
  });
});

// Goal: once an account is suspended, nothing new is accepted for it, even if a process has it cached; accepted work
// continues to its end or is cancelled on request; a resumed account is as it was before.
// Method: use cases on the memory stores, several processes, a manual clock, and a request held at a port call.

const REVOKED = 'DEVELOPER_TOKEN_REVOKED';
const NOBODY = '01900000-0000-7000-8000-0000000000ff';

describe('a suspended account', () => {
  let harness: CoreHarness;
  let id: string;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    id = harness.caller.accountId;
  });

  const create = (key = harness.ports.ids.uuid(), context = harness.context) =>
    harness.post(key, harness.body(), { context });

  it('is refused at its hold in every process immediately, with the code and the sentence of authentication', async () => {
    const [one, other] = [harness.process(), harness.process()];
    // Both processes have cached the account.
    await create(undefined, one);
    await create(undefined, other);
    await suspendAccount(harness.context, id);
    for (const context of [one, other, harness.context]) {
      const refused: unknown = await create(undefined, context).catch((error: unknown) => error);
      expect(refused).to.include({ code: REVOKED, message: 'The account is suspended.' });
      await expectCode(REVOKED, estimateGeneration(context, harness.caller, harness.body()));
    }
    expect((await harness.account()).holds.size).to.equal(2);
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
  });

  it('frees the key of what it refused, and accepts it once it is resumed', async () => {
    await suspendAccount(harness.context, id);
    await expectCode(REVOKED, create('again'));
    await resumeAccount(harness.context, id);
    expect((await create('again')).replayed).to.equal(false);
  });

  it('is settled, granted to and corrected as usual, and keeps its accepted generations', async () => {
    const { generation } = await create('before');
    await suspendAccount(harness.context, id);
    expect((await create('before')).replayed, 'a replay accepts nothing new').to.equal(true);
    await grantCredits(harness.context, { accountId: id, operationId: 'g', credits: 5, reason: '' });
    await adjustCredits(harness.context, { accountId: id, operationId: 'a', credits: -3, reason: 'as agreed' });
    expect(await cancelOpenGenerations(harness.context, id)).to.deep.equal({
      cancelled: 1,
      stopping: 0,
      unfinished: 0,
    });
    expect(await harness.generation(generation.generationId)).to.include({ status: 'cancelled', chargedCredits: 0 });
    expect(await harness.account()).to.include({ available: 1_002, reserved: 0 });
  });

  it('keeps the time of its first suspension through a second one and a rename, and is as before once resumed', async () => {
    const before = await harness.account();
    const { suspendedAt } = await suspendAccount(harness.context, id);
    expect(suspendedAt).to.equal(harness.clock.now());
    harness.clock.jump(5_000);
    expect(await suspendAccount(harness.context, id)).to.include({ suspendedAt });
    expect(await renameAccount(harness.context, id, '  Southern studio ')).to.include({
      suspendedAt,
      name: 'Southern studio',
    });
    const resumed = await resumeAccount(harness.context, id);
    expect(resumed).to.deep.equal({ ...before, name: 'Southern studio', version: before.version + 3 });
    expect(await resumeAccount(harness.context, id)).to.deep.equal(resumed);
    expect(await harness.entries(), 'none of it is an entry').to.have.length(1);
  });

  it('refuses an invalid name and an unknown account', async () => {
    for (const name of ['', '  ', 'a\nb', 'x'.repeat(101)])
      await expectCode('FIELD_INVALID', renameAccount(harness.context, id, name), name);
    for (const change of [
      suspendAccount(harness.context, NOBODY),
      resumeAccount(harness.context, NOBODY),
      renameAccount(harness.context, NOBODY, 'x'),
      cancelOpenGenerations(harness.context, NOBODY),
    ]) {
      await expectCode('NOT_FOUND', change);
    }
  });
});

describe('renameApp', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('changes the name of an App and nothing else', async () => {
    const { appId } = harness.caller;
    const before = await harness.ports.credentials.readApp(appId);
    const renamed = await renameApp(harness.context, { appId, name: '  Shop ' });
    expect(renamed).to.deep.equal({ ...before, name: 'Shop' });
    expect(await harness.ports.credentials.readApp(appId)).to.deep.equal(renamed);
  });

  it('refuses an invalid name and an unknown App', async () => {
    const { appId } = harness.caller;
    for (const name of ['', '  ', 'a\nb', 'x'.repeat(101)])
      await expectCode('FIELD_INVALID', renameApp(harness.context, { appId, name }), name);
    await expectCode('NOT_FOUND', renameApp(harness.context, { appId: NOBODY, name: 'x' }));
  });

  it('leaves no name in an account that is erased, before it or meanwhile', async () => {
    const { appId, accountId } = harness.caller;
    const { credentials } = harness.ports;
    const erased = await eraseAccount(harness.context, accountId).then(() => credentials.readApp(appId));
    await expectCode('CONFLICT', renameApp(harness.context, { appId, name: 'late' }));
    expect(await credentials.readApp(appId)).to.deep.equal(erased);
    const other = await harness.newCaller(0);
    const slow = {
      ...harness.context,
      credentials: Object.assign(Object.create(credentials) as typeof credentials, {
        renameApp: async (id: string, name: string) => {
          if (name === 'late') await eraseAccount(harness.context, other.accountId);
          return credentials.renameApp(id, name);
        },
      }),
    };
    await expectCode('CONFLICT', renameApp(slow, { appId: other.appId, name: 'late' }));
    expect((await credentials.readApp(other.appId))?.name).to.equal('erased');
  });
});

describe('cancelOpenGenerations', () => {
  it('ends queued generations, asks running ones to stop, leaves ended ones, and reports the rest alike when repeated', async () => {
    const harness = await CoreHarness.open();
    const [running, ended, ...queued] = await Promise.all(Array.from({ length: 45 }, () => harness.create()));
    await changeGeneration(harness.context, running!, {
      event: 'start',
      worker: 'w',
      token: 't',
      provider: 'scripted',
      leaseMs: 60_000,
    });
    // It has ended and still has its hold: it is between its end and its settlement.
    await changeGeneration(harness.context, ended!, { event: 'cancel' });
    const { accountId } = harness.caller;
    expect(await cancelOpenGenerations(harness.context, accountId)).to.deep.equal({
      cancelled: queued.length,
      stopping: 1,
      unfinished: 0,
    });
    expect((await harness.generation(running!.generationId)).cancelRequestedAt).to.be.a('number');
    expect(await cancelOpenGenerations(harness.context, accountId)).to.deep.equal({
      cancelled: 0,
      stopping: 1,
      unfinished: 0,
    });
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
  });

  it('counts a create between its hold and its generation, and cancels it when repeated', async () => {
    const harness = await CoreHarness.open();
    const gate = new Gate();
    const slow = harness.process(async (call) => {
      if (call.name === 'generations.insert') await gate.wait();
      return call.proceed();
    });
    const created = harness.post('key', harness.body(), { context: slow });
    while (!gate.reached) await new Promise(setImmediate);
    const { accountId } = harness.caller;
    await suspendAccount(harness.context, accountId);
    expect(await cancelOpenGenerations(harness.context, accountId)).to.deep.equal({
      cancelled: 0,
      stopping: 0,
      unfinished: 1,
    });
    gate.open();
    await created;
    expect(await cancelOpenGenerations(harness.context, accountId)).to.deep.equal({
      cancelled: 1,
      stopping: 0,
      unfinished: 0,
    });
  });
});

describe('keys of a suspended account', () => {
  it('are refused in every process within 5 seconds, and accepted again within 5 seconds unless revoked', async () => {
    const harness = await CoreHarness.open();
    const newKey = () => createKey(harness.context, { appId: harness.caller.appId, name: 'Test key' });
    const [{ secret }, revoked] = [await newKey(), await newKey()];
    const all = [
      new Authenticator(harness.context),
      new Authenticator(harness.process()),
      new Authenticator(harness.process()),
    ];
    const answers = () =>
      Promise.all(
        all.map((authenticator) =>
          authenticator.authenticate(secret).then(
            () => 'OK',
            ({ message }: ServiceError) => message,
          ),
        ),
      );
    const after = async (change: () => Promise<unknown>) => {
      await change();
      // A process that is queried continually must not cache it for longer.
      for (let ms = 0; ms < 5_000; ms += 250) {
        harness.clock.jump(250);
        await answers();
      }
      return answers();
    };
    expect(await answers()).to.deep.equal(['OK', 'OK', 'OK']);
    expect(await after(() => suspendAccount(harness.context, harness.caller.accountId))).to.deep.equal(
      Array(3).fill('The account is suspended.'),
    );
    await revokeKey(harness.context, revoked.key.keyId);
    expect(await after(() => resumeAccount(harness.context, harness.caller.accountId))).to.deep.equal([
      'OK',
      'OK',
      'OK',
    ]);
    await expectCode(REVOKED, all[0]!.authenticate(revoked.secret));
  });
});

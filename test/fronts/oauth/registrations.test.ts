import { expect } from 'chai';
import { noteClientUse } from '../../../apps/http/oauth/registration.js';
import { MemoryArtefactStore } from '../../adapters/memory/people-stores.js';
import type { TestBrowser } from '../../harness/test-browser.js';
import { type Answer, OAuthHarness, REDIRECT } from './oauth-harness.js';

/*
 * Goal: nobody keeps others from registering a client, or has the client of somebody else removed that is young or that a
 * person is asked about, by registering many, from one address, one site or many addresses.
 * Method: a whole service over HTTP in this process behind a proxy that the operator trusts, which names the client's
 * address; registrations of 52 addresses, and the store's own list of them.
 */

const TOTAL = 950;
const MAX_LISTED = 1_000;
const PER_ADDRESS_A_MINUTE = 20;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const METADATA = { client_name: 'a client', redirect_uris: [REDIRECT] };

/** Calls what a test has another process do just before something is removed. */
class WatchedArtefactStore extends MemoryArtefactStore {
  beforeRemove: () => Promise<void> = () => Promise.resolve();

  override async remove(...given: Parameters<MemoryArtefactStore['remove']>): Promise<void> {
    await this.beforeRemove();
    await super.remove(...given);
  }
}

describe('registrations of OAuth clients', () => {
  let service: OAuthHarness;
  let artefacts: WatchedArtefactStore;
  let browser: TestBrowser;
  beforeEach(async () => {
    artefacts = new WatchedArtefactStore();
    service = await OAuthHarness.open({ trustedProxies: ['127.0.0.1'] }, { ports: { artefacts } });
    browser = await service.signedIn();
  });
  afterEach(() => service.close());

  const register = (address: string): Promise<Answer> => {
    // The oldest is removed first: no two are registered in the same millisecond.
    service.harness.clock.advance(1);
    return service.post('/oauth/register', METADATA, { 'X-Forwarded-For': address });
  };
  const idOf = ({ body }: Answer) => String(body['client_id']);
  const isKnown = async (clientId: string) =>
    (await browser.open(service.request(clientId).path)).text.includes('Connect a program');
  const unused = async () => service.harness.context.artefacts.listOwned('oauth-client', 'unused', MAX_LISTED);
  /** Registers clients at once; returns the statuses with how often each came. */
  const flood = async (addresses: readonly string[], each: number) => {
    const counts: Record<number, number> = {};
    for (const address of addresses)
      for (const { status } of await Promise.all(Array.from({ length: each }, () => register(address))))
        counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  const addresses = (count: number, of: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => of(index));
  const anyWhere = (index: number) => `198.51.${100 + (index % 100)}.${1 + Math.floor(index / 100)}`;

  it('are taken twenty times a minute from one address, and a hundred times an hour', async () => {
    expect(await flood(['192.0.2.1'], 21)).to.deep.equal({ 201: 20, 429: 1 });
    expect((await register('192.0.2.2')).status).to.equal(201);
    // Another network of the same site: its own rate, within that of the site.
    expect(await flood(['2001:db8:1:1::1', '2001:db8:1:1:ffff::2'], 15)).to.deep.equal({ 201: 20, 429: 10 });
  });

  it('are taken forty times a minute from one /48, however many addresses of it are used', async () => {
    const site = addresses(52, (index) => `2001:db8:7:${index.toString(16)}::1`);
    expect(await flood(site, 2)).to.deep.equal({ 201: 40, 429: 64 });
    expect((await register('2001:db8:8:1::1')).status).to.equal(201);
    const refused = await register('2001:db8:7:ffff::1');
    expect(refused.body['error']).to.equal('temporarily_unavailable');
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 3_600);
  });

  it('of 52 addresses keep nobody from registering, and remove nobody else', async () => {
    const mine = idOf(await register('203.0.113.9'));
    expect(await flood(addresses(52, anyWhere), PER_ADDRESS_A_MINUTE)).to.deep.equal({ 201: 1_040 });
    expect(await unused()).to.have.lengthOf(TOTAL);
    const next = await register('203.0.113.10');
    expect(next.status).to.equal(201);
    expect(await unused()).to.have.lengthOf(TOTAL);
    for (const clientId of [mine, idOf(next)]) expect(await isKnown(clientId)).to.equal(true);
  }).timeout(60_000);

  it('of 52 addresses remove none that is being connected, even after hours', async () => {
    const asked = idOf(await register('203.0.113.9'));
    const forgotten = idOf(await register('203.0.113.10'));
    service.harness.clock.advance(2 * HOUR_MS);
    browser = await service.signedIn();
    const { path, verifier } = service.request(asked);
    const page = await browser.open(path);
    // Each address stays within what is safe for it, so that older ones of others have to make room.
    await fill(
      addresses(TOTAL / 5, (index) => `block ${index}`),
      5,
    );
    expect((await register('203.0.113.11')).status).to.equal(201);
    expect((await register('203.0.113.12')).status, 'all others are young, or asked about').to.equal(429);
    const callback = await service.allow(browser, page);
    const tokens = await service.exchange(asked, callback.searchParams.get('code') ?? '', verifier);
    expect(tokens.status).to.equal(200);
    expect(await isKnown(forgotten)).to.equal(false);
  });

  it('make room for others once they are an hour old, the oldest first', async () => {
    const [first, second] = [idOf(await register('203.0.113.1')), idOf(await register('203.0.113.2'))];
    await fill(
      addresses(TOTAL / 5, (index) => `block ${index}`),
      5,
    );
    const refused = await register('203.0.113.3');
    expect([refused.status, refused.body['error']]).to.deep.equal([429, 'temporarily_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(3_500, 3_600);
    service.harness.clock.advance(HOUR_MS);
    browser = await service.signedIn();
    expect((await register('203.0.113.3')).status).to.equal(201);
    for (const clientId of [first, second]) expect(await isKnown(clientId), 'of blocks with one each').to.equal(true);
    expect(await unused()).to.have.lengthOf(TOTAL);
  });

  it('are removed from the block with the most of them, even if they are young and asked about', async () => {
    const greedy = [];
    for (let number = 0; number < 6; number += 1) greedy.push(idOf(await register('203.0.113.66')));
    for (const clientId of greedy) expect(await isKnown(clientId)).to.equal(true);
    await fill(
      addresses(188, (index) => `block ${index}`),
      5,
    );
    await fill(['a block with less'], 4);
    expect((await register('203.0.113.67')).status).to.equal(201);
    expect(await Promise.all(greedy.map(isKnown))).to.deep.equal([false, true, true, true, true, true]);
    expect((await register('203.0.113.68')).status, 'no block has more than is safe').to.equal(429);
  });

  it('that are connected while they are removed stay, and the next registration is taken', async () => {
    const greedy = [];
    for (let number = 0; number < 6; number += 1) greedy.push(idOf(await register('203.0.113.66')));
    await fill(
      addresses(189, (index) => `block ${index}`),
      5,
    );
    const [oldest = '', second = ''] = greedy;
    artefacts.beforeRemove = () => noteClientUse(service.harness.context, oldest);
    expect((await register('203.0.113.67')).status).to.equal(201);
    expect(await Promise.all([oldest, second].map(isKnown))).to.deep.equal([true, true]);
  });

  it('are not kept with the address that they came from', async () => {
    const { body } = await register('203.0.113.77');
    expect(JSON.stringify(body)).not.to.include('registered_from');
    expect(JSON.stringify(await unused()))
      .to.include('registered_from')
      .and.not.include('203.0.113');
  });

  it('that are used count no more, and stay', async () => {
    const used = idOf(await register('203.0.113.1'));
    await service.connect(browser, used);
    const allowed = idOf(await register('203.0.113.2'));
    await service.allow(browser, await browser.open(service.request(allowed).path));
    expect(await unused()).to.deep.equal([]);
    service.harness.clock.advance(2 * HOUR_MS);
    await fill(
      addresses(TOTAL / 5, (index) => `block ${index}`),
      5,
    );
    browser = await service.signedIn();
    for (const clientId of [used, allowed]) expect(await isKnown(clientId)).to.equal(true);
  });

  /** As many unused clients of each block, as the service stores them. */
  async function fill(blocks: readonly string[], each: number): Promise<void> {
    const { clock } = service.harness.context;
    for (const block of blocks)
      for (let number = 0; number < each; number += 1)
        await artefacts.put({
          kind: 'oauth-client',
          id: `${block.replaceAll(' ', '-')}-${number}`,
          owner: 'unused',
          data: { registered_from: block },
          createdAt: clock.now(),
          expiresAt: clock.now() + 24 * HOUR_MS,
          removeAt: clock.now() + 24 * HOUR_MS,
        });
  }
});

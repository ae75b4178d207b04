/*
 * Goal: nobody without an account can fill the stores through the OAuth server, and a client that asks too often learns
 * why; lives of any length can be configured.
 * Method: a whole service over HTTP in this process, asked as often as its limits allow and once more.
 */
import { expect } from 'chai';
import { TestBrowser } from '../../harness/test-browser.js';
import { OAuthHarness } from './oauth-harness.js';

const BEGUN_A_MINUTE = 120;
const REQUESTS_A_MINUTE = 600;
const MINUTE_MS = 60_000;

describe('the bounds of the OAuth server', () => {
  let service: OAuthHarness | undefined;
  const open = async (...options: Parameters<typeof OAuthHarness.open>) =>
    (service = await OAuthHarness.open(...options));
  afterEach(() => service?.close());

  /** Statuses of requests that were sent at once, each with how often it came. */
  const counted = async (times: number, send: () => Promise<{ readonly status: number }>) => {
    const counts: Record<number, number> = {};
    for (let sent = 0; sent < times; sent += 20) {
      const answers = await Promise.all(Array.from({ length: Math.min(20, times - sent) }, send));
      for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  };

  it('let one address begin 120 authorizations a minute, by page and by device together', async () => {
    const running = await open();
    const clientId = await running.register({
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    const { path } = running.request(clientId);
    const begin = () => fetch(running.origin + path, { redirect: 'manual' });
    expect(await counted(BEGUN_A_MINUTE - 1, begin)).to.deep.equal({ 303: BEGUN_A_MINUTE - 1 });
    const askDevice = () => running.token({ client_id: clientId }, '/oauth/device/code');
    expect((await askDevice()).status).to.equal(200);
    const refused = await askDevice();
    expect([refused.status, refused.body['error']]).to.deep.equal([429, 'temporarily_unavailable']);
    expect(refused.headers.get('access-control-allow-origin')).to.equal('*');
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    const page = await new TestBrowser(running.origin).open(path);
    expect(page.status).to.equal(429);
    expect(page.text).to.include('Too many requests came from this address');
  });

  it('let one address send 600 requests a minute, and count no other front with them', async () => {
    const running = await open();
    const { origin } = running;
    const guess = () => running.token({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'nobody' });
    const counts = await counted(REQUESTS_A_MINUTE, guess);
    expect(counts[429]).to.equal(undefined);
    expect((await guess()).status).to.equal(429);
    expect((await fetch(`${origin}/sign-in`)).status).to.equal(200);
    expect((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status).to.equal(200);
  });

  it('keep an authorization that nobody finished no longer than it could be finished', async () => {
    const running = await open();
    const { context, clock } = running.harness;
    const { path } = running.request(await running.register());
    for (let begun = 0; begun < 5; begun += 1) await fetch(running.origin + path, { redirect: 'manual' });
    expect(await context.artefacts.removeExpired(clock.now(), 100)).to.equal(0);
    clock.advance(15 * MINUTE_MS);
    const removed = await context.artefacts.removeExpired(clock.now(), 100);
    expect(removed).to.be.at.least(5);
    clock.advance(24 * 60 * MINUTE_MS);
    expect(await context.artefacts.removeExpired(clock.now(), 100)).to.equal(0);
  });

  it('take lives that are no whole number of seconds', async () => {
    const running = await open({}, { settings: { accessTokenMs: 61_500, grantIdleMs: 3_600_100 } });
    const tokens = await running.connect(await running.signedIn(), await running.register());
    expect(tokens.expires_in).to.equal(62);
  });
});

/*
 * Goal: a device without a browser is connected by a person who compares its code, and by nobody else.
 * Method: a whole service over HTTP in this process; the device polls, a browser without scripts confirms.
 */
import { expect } from 'chai';
import type { TestBrowser, TestPage } from '../../harness/test-browser.js';
import { hiddenFields } from '../../harness/test-browser.js';
import { OAuthHarness } from './oauth-harness.js';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
}

describe('a device', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  let codes: DeviceCodes;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register({ grant_types: [DEVICE_GRANT], redirect_uris: [] });
    const { body } = await service.token({ client_id: clientId, scope: 'credits:read' }, '/oauth/device/code');
    codes = body as unknown as DeviceCodes;
  });
  afterEach(() => service.close());
  const poll = (deviceCode = codes.device_code) =>
    service.token({ grant_type: DEVICE_GRANT, client_id: clientId, device_code: deviceCode });
  const enter = async (fields: Record<string, string>): Promise<TestPage> =>
    browser.submit('/oauth/device', { ...hiddenFields(await browser.open('/oauth/device')), ...fields });

  it('is told where its person enters the code', () => {
    expect(codes.verification_uri).to.equal(`${service.origin}/oauth/device`);
    expect(codes.user_code).to.match(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(codes.expires_in).to.equal(600);
  });

  it('gets tokens once its person has confirmed the code and allowed it', async () => {
    expect((await poll()).body['error']).to.equal('authorization_pending');
    const confirm = await enter({ user_code: codes.user_code.toLowerCase() });
    expect(confirm.text).to.include(codes.user_code);
    const consent = await browser.submit('/oauth/device', { ...hiddenFields(confirm), confirm: 'yes' });
    expect(consent.text).to.include('Connect a program').and.include('the device that shows the code');
    const done = await browser.submit(new URL(consent.url).pathname, { decision: 'allow', scope: 'credits:read' });
    expect(done.text).to.include('The device is connected');
    const { body, status } = await poll();
    expect(status).to.equal(200);
    expect((await service.call(String(body['access_token']))).status).to.equal(200);
    expect((await poll()).body['error']).to.equal('invalid_grant');
  });

  it('is shown its code in the form when its person follows the link', async () => {
    const page = await browser.open(codes.verification_uri_complete);
    expect(page.text).to.include(`value="${codes.user_code}"`);
    expect((await poll()).body['error']).to.equal('authorization_pending');
  });

  it('is refused when its person refuses it', async () => {
    const confirm = await enter({ user_code: codes.user_code });
    const consent = await browser.submit('/oauth/device', { ...hiddenFields(confirm), confirm: 'yes' });
    await browser.submit(new URL(consent.url).pathname, { decision: 'deny' });
    expect((await poll()).body['error']).to.equal('access_denied');
  });

  it('is refused when the code is not the one that it shows', async () => {
    const confirm = await enter({ user_code: codes.user_code });
    await browser.submit('/oauth/device', { ...hiddenFields(confirm), abort: 'yes' });
    expect((await poll()).body['error']).to.equal('access_denied');
  });

  it('is not found by a code that is wrong', async () => {
    expect((await enter({ user_code: 'BBBB-BBBB' })).text).to.include('There is no such code.');
    expect((await enter({ user_code: '' })).text).to.include('Enter the code');
  });

  it('is not confirmed by a page of another address', async () => {
    const fields = { user_code: codes.user_code, confirm: 'yes' };
    const without = await browser.submit('/oauth/device', fields);
    expect(without.text).to.include('The code that your device shows');
    await browser.open('/oauth/device');
    const wrong = await browser.submit('/oauth/device', { ...fields, xsrf: 'x'.repeat(43) });
    expect(wrong.text).not.to.include('Connect a program');
    expect((await poll()).body['error']).to.equal('authorization_pending');
  });

  it('gets nothing with what the store has of its code', async () => {
    const { artefacts, digests } = service.harness.context;
    const userCode = codes.user_code.replace('-', '');
    const stored = await artefacts.findByAlias('device-code', digests.keyed(`user-code ${userCode}`));
    expect(stored?.id).to.be.a('string');
    for (const guess of [stored?.id ?? '', `reference:${stored?.id}.${stored?.id}`])
      expect((await poll(guess)).body['error']).to.equal('invalid_grant');
  });
});

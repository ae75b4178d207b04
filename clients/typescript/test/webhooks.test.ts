// Goal: a webhook is accepted if and only if it is signed as Standard Webhooks says, with one of the secrets and lately.
// Method: messages signed by the public library of that scheme, as they are and with one thing changed.
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError } from '../src/index.js';

const secretOf = (bytes = 24) => `whsec_${randomBytes(bytes).toString('base64')}`;
const SECRET = secretOf();
const BODY = JSON.stringify({
  type: 'generation.ended',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { text: 'Zoë 画' },
});

function signed(secrets: readonly string[], body = BODY, at = new Date()): Record<string, string> {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign('msg_1', at, body)).join(' '),
  };
}

describe('verifying a webhook', () => {
  const accepted = async (...args: Parameters<typeof verifyWebhook>): Promise<boolean> => {
    try {
      await verifyWebhook(...args);
      return true;
    } catch (error) {
      expect(error).to.be.instanceOf(WebhookVerificationError);
      return false;
    }
  };

  it('refuses another body, id, time or secret, and what is not signed', async () => {
    const headers = signed([SECRET]);
    expect(await accepted(`${BODY} `, headers, SECRET)).to.equal(false);
    expect(await accepted(BODY, { ...headers, 'webhook-id': 'msg_2' }, SECRET)).to.equal(false);
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(await accepted(BODY, { ...headers, 'webhook-timestamp': later }, SECRET)).to.equal(false);
    expect(await accepted(BODY, headers, secretOf())).to.equal(false);
    for (const name of Object.keys(headers)) {
      const { [name]: _, ...others } = headers;
      expect(await accepted(BODY, others, SECRET), name).to.equal(false);
    }
    for (const signature of ['', 'v1,', 'v1,%', `v2,${headers['webhook-signature']?.slice(3)}`, 'v1a,aaaa'])
      expect(await accepted(BODY, { ...headers, 'webhook-signature': signature }, SECRET), signature).to.equal(false);
  });

  it('refuses a parsed body and a missing secret as mistakes of the caller', async () => {
    const headers = signed([SECRET]);
    const thrown = (...args: readonly unknown[]): Promise<unknown> =>
      verifyWebhook(...(args as Parameters<typeof verifyWebhook>)).catch((error: unknown) => error);
    for (const body of [JSON.parse(BODY), undefined])
      expect(await thrown(body, headers, SECRET))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.includes('parsed');
    for (const secrets of [undefined, null, [], [SECRET, undefined], 'whsec_%'])
      expect(await thrown(BODY, headers, secrets), String(secrets))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.includes('whsec_');
  });

  it('refuses what was signed more than five minutes before or after', async () => {
    const at = new Date('2026-01-01T12:00:00Z');
    const headers = signed([SECRET], BODY, at);
    for (const [seconds, expected] of [
      [-301, false],
      [-300, true],
      [300, true],
      [301, false],
    ] as const)
      expect(await accepted(BODY, headers, SECRET, { now: at.getTime() + seconds * 1_000 }), `${seconds}`).to.equal(
        expected,
      );
    for (const time of ['', 'now', '-1', '1e9', `${headers['webhook-timestamp']}.5`])
      expect(await accepted(BODY, { ...headers, 'webhook-timestamp': time }, SECRET, { now: at.getTime() })).to.equal(
        false,
      );
  });

  it('accepts the body with either secret of a rotation, in whatever form headers come', async () => {
    const other = secretOf(64);
    const headers = signed([other, SECRET]);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    for (const form of [headers, new Headers(headers), upper]) {
      for (const secret of [SECRET, other, [secretOf(), SECRET]])
        expect(await verifyWebhook(BODY, form, secret)).to.deep.equal(JSON.parse(BODY));
    }
    expect(await verifyWebhook(new TextEncoder().encode(BODY), headers, SECRET)).to.deep.equal(JSON.parse(BODY));
  });
});

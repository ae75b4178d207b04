import { expect } from 'chai';
import { get, request } from 'node:http';
import { browserUrl, originOf, otherOrigin, ownOrigins } from '../../../apps/config/network-address.js';
import { TestBrowser } from '../../harness/test-browser.js';
import { OAuthHarness, PASSWORD } from './oauth-harness.js';

// Goal: a service on this machine is the same under localhost and under its number, and what clients know of it stays.
// Method: a whole service over HTTP in this process; a browser without scripts under localhost connects a client of the issuer
// under a number. The requests with the headers of a browser that opens a page are made by hand.

const LOCAL = 'http://127.0.0.1:8080';

/** Names that look like this machine's or lead to it, and are other names. */
const LOOKALIKES = [
  'evil.example',
  'localhost.evil.example',
  'evil.localhost',
  'localhost.',
  '127.0.0.1.nip.io',
  '127.0.0.1.evil.example',
  '[::ffff:127.0.0.1]',
  '[::]',
  '0.0.0.0',
  '127.0.0.2',
];

describe('the names of a service on this machine', () => {
  it('are those of this machine without TLS, and the public address otherwise', () => {
    const all = ['http://localhost:8080', LOCAL, 'http://[::1]:8080'];
    for (const publicUrl of all) expect(ownOrigins(publicUrl), publicUrl).to.deep.equal(all);
    for (const publicUrl of [
      'https://localhost:8080',
      'http://127.0.0.2',
      'https://pictures.example',
      'http://a.localhost',
    ])
      expect(ownOrigins(publicUrl), publicUrl).to.deep.equal([publicUrl]);
  });

  it('are no others, no other port and no other scheme', () => {
    for (const name of LOOKALIKES) {
      const origin = `http://${name}:8080`;
      expect(ownOrigins(LOCAL), origin).not.to.include(new URL(origin).origin);
      expect(ownOrigins(origin), origin).to.deep.equal([new URL(origin).origin]);
      for (const host of [
        `${name}:8080`,
        `localhost:8080@${name}`,
        `localhost:8080.${name}`,
        `localhost:8080/${name}`,
      ]) {
        expect(originOf(host, LOCAL), host).to.equal(LOCAL);
        expect(otherOrigin(host, LOCAL), host).to.equal(undefined);
      }
    }
    expect(ownOrigins('http://localhost')).to.deep.equal(['http://localhost', 'http://127.0.0.1', 'http://[::1]']);
  });

  it('are shown to people as localhost', () => {
    expect(browserUrl(LOCAL)).to.equal('http://localhost:8080');
    expect(browserUrl('http://127.0.0.1')).to.equal('http://localhost');
    expect(browserUrl('http://127.0.0.1:8080/at')).to.equal('http://localhost:8080/at');
    expect(browserUrl('https://pictures.example')).to.equal('https://pictures.example');
  });

  it('are derived from the Host header of a request, and no other host is accepted', () => {
    expect(originOf('localhost:8080', LOCAL)).to.equal('http://localhost:8080');
    for (const host of [undefined, 'localhost', 'localhost:1', 'evil.example', '127.0.0.1:8080', 'a b'])
      expect(originOf(host, LOCAL), host).to.equal(LOCAL);
    expect(originOf('localhost:8080', 'https://pictures.example')).to.equal('https://pictures.example');
  });

  it('lead to the other one where the public address is one of them', () => {
    expect(otherOrigin('127.0.0.1:8080', LOCAL)).to.equal('http://localhost:8080');
    expect(otherOrigin('localhost:8080', 'http://localhost:8080')).to.equal(LOCAL);
    for (const host of ['localhost:8080', 'evil.example', undefined])
      expect(otherOrigin(host, LOCAL), host).to.equal(undefined);
    expect(otherOrigin('pictures.example', 'https://pictures.example')).to.equal(undefined);
  });

  describe('in an authorization', () => {
    let service: OAuthHarness;
    beforeEach(async () => {
      service = await OAuthHarness.open();
    });
    afterEach(() => service.close());
    const named = () => service.origin.replace('127.0.0.1', 'localhost');
    /** The response to a browser that opens a page under the issuer's IP address. */
    const opened = (path: string, cookie = '', host = new URL(service.origin).host) =>
      new Promise<{ readonly status: number | undefined; readonly location: string | undefined }>((resolve, reject) => {
        const headers = { 'Sec-Fetch-Mode': 'navigate', 'Host': host, ...(cookie === '' ? {} : { Cookie: cookie }) };
        get(service.origin + path, { headers }, (response) => {
          response.resume();
          resolve({ status: response.statusCode, location: response.headers.location });
        }).on('error', reject);
      });

    it('connect a program of the issuer under a number from a browser under localhost', async () => {
      const clientId = await service.register();
      const { path, verifier } = service.request(clientId);
      expect(await opened(path)).to.deep.equal({ status: 303, location: named() + path });
      const browser = new TestBrowser(named());
      await browser.submit('/sign-in', { email: 'ada@example.com', password: PASSWORD });
      const callback = await service.allow(browser, await browser.open(path));
      expect(callback.searchParams.get('iss')).to.equal(service.origin);
      const { status } = await service.exchange(clientId, callback.searchParams.get('code') ?? '', verifier);
      expect(status).to.equal(200);
    });

    it('lead nowhere else, whatever the request calls this machine', async () => {
      const { port } = new URL(service.origin);
      const { path } = service.request(await service.register());
      for (const name of LOOKALIKES) {
        const { status, location = '' } = await opened(path, '', `${name}:${port}`);
        expect(status, name).to.be.below(400);
        expect(new URL(location, service.origin).origin, name).to.equal(service.origin);
      }
      const other = await opened(path, '', `127.0.0.1:${Number(port) - 1}`);
      expect(new URL(other.location ?? '', service.origin).origin).to.equal(service.origin);
    });

    it('are refused a form of a page with another name, port or scheme', async () => {
      const { port } = new URL(service.origin);
      const statusFor = (origin: string) =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { 'Origin': origin, 'Content-Type': 'application/x-www-form-urlencoded' };
          request(`${service.origin}/sign-out`, { method: 'POST', headers }, (response) => {
            response.resume();
            resolve(response.statusCode);
          })
            .on('error', reject)
            .end();
        });
      const others = [
        ...LOOKALIKES.map((name) => `http://${name}:${port}`),
        `http://localhost:${Number(port) - 1}`,
        'http://localhost',
        `https://localhost:${port}`,
        `http://localhost:${port}/`,
        'null',
      ];
      for (const origin of others) expect(await statusFor(origin), origin).to.equal(403);
      for (const origin of ownOrigins(service.origin)) expect(await statusFor(origin), origin).to.equal(303);
    });

    it('stay at the number for a person who is signed in there, and for the page of a device code', async () => {
      const { path } = service.request(await service.register());
      const cookie = (await service.signedIn()).cookieHeader('/');
      expect((await opened(path, cookie)).location).to.match(/^\/oauth\/consent\/|^http:\/\/127\.0\.0\.1/);
      expect(await opened('/oauth/device?user_code=A')).to.deep.equal({
        status: 303,
        location: `${named()}/oauth/device?user_code=A`,
      });
    });
  });
});

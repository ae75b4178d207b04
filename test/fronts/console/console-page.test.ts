/*
 * Goal: the base address leads people to their account page, who must sign in to see it; the page loads nothing but its
 * own files, and no other page can hold it in a frame.
 * Method: a whole service over HTTP in this process, with the page that was built.
 */
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { TestBrowser } from '../../harness/test-browser.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';

const SECTIONS = ['/console/api-and-mcp', '/console/usage', '/console/sign-in'];

describe('the account page', () => {
  let service: OAuthHarness;
  beforeEach(async () => {
    service = await OAuthHarness.open();
  });
  afterEach(() => service.close());

  it('is where the base address leads, for those who are signed in', async () => {
    const browser = await service.signedIn();
    for (const path of ['/', '/console', '/console/api-and-mcp'])
      expect((await browser.open(path)).url, path).to.equal(`${service.origin}/console/api-and-mcp`);
  });

  it('leads others to sign in, and back to the section that they opened', async () => {
    for (const path of SECTIONS) {
      const { url } = await new TestBrowser(service.origin).open(path);
      expect(url).to.equal(`${service.origin}/sign-in?return=${encodeURIComponent(path)}`);
    }
  });

  it('has no address but those of its sections and files', async () => {
    const browser = await service.signedIn();
    for (const path of [
      '/console/',
      '/console/other',
      '/console/assets/',
      '/console/assets/..%2Findex.html',
      '/console/assets/%2Fetc%2Fpasswd',
      '/console/api/other',
    ])
      expect((await browser.open(path)).status, path).to.equal(404);
  });

  it('allows nothing inline and nothing from outside, and has none of it', async () => {
    const browser = await service.signedIn();
    const { headers, text, status } = await browser.open('/console/credits');
    expect(status).to.equal(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy)
      .to.include("default-src 'none'")
      .and.include("frame-ancestors 'none'")
      .and.include("script-src 'self'")
      .and.include("style-src 'self'")
      .and.not.include('unsafe');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(text).not.to.match(/https?:|<script>|<style|\son\w+=|\sstyle=/);
    const files = [...text.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(files).to.have.lengthOf(2);
    for (const path of files) {
      const file = await browser.open(path);
      expect([file.status, file.headers.get('cache-control')], path).to.deep.equal([
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(file.text, path).not.to.match(/@import|url\(["']?(https?:)?\/\//);
    }
  });

  it('leads from the old address of the credits to where they are now, and keeps what an address asks for', async () => {
    const browser = await service.signedIn();
    expect((await browser.open('/console/credits')).url).to.equal(`${service.origin}/console/usage`);
    const asked = '/console/generations?status=failed';
    const { url } = await new TestBrowser(service.origin).open(asked);
    expect(url).to.equal(`${service.origin}/sign-in?return=${encodeURIComponent(asked)}`);
    for (const path of ['/console/generations/some-id', '/console/webhooks/default'])
      expect((await browser.open(path)).status, path).to.equal(200);
  });

  it('allows nothing more while the object store has not been reached', async () => {
    const objects = {
      signGet: () => Promise.reject(new StoreUnavailable('It was not reached.')),
    } as unknown as ObjectStore;
    const away = await OAuthHarness.open({}, { ports: { objects } });
    const { headers, status } = await (await away.signedIn()).open('/console/playground');
    await away.close();
    expect(status).to.equal(200);
    expect(headers.get('content-security-policy')).to.include("img-src 'self' data: blob:;").and.not.include('http');
  });

  it('is left out with sign-in, and the base address then leads to the documentation', async () => {
    const without = await OAuthHarness.open({ people: { hasSignIn: false } });
    const bare = await fetch(`${without.origin}/`, { redirect: 'manual' });
    const page = await fetch(`${without.origin}/console`);
    const api = await fetch(`${without.origin}/console/api/overview`);
    await without.close();
    expect([bare.status, bare.headers.get('location')]).to.deep.equal([302, '/docs']);
    expect([page.status, api.status]).to.deep.equal([404, 404]);
  });
});

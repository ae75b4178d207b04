import { expect } from 'chai';
import { createServer, request } from 'node:http';
import { closedAfterEach, listening } from '../../../fixtures/opened.js';
import { PICTURE } from '../../vectors/vector.js';
import { BASE, RestHarness } from '../host/rest-client.js';

// Goal: every link leads to where clients reach the service, if a proxy publishes it under a path.
// Method: a proxy that removes the path; each link of a response is resolved as a client does, and followed.

describe('a public URL with a path', () => {
  const opened = closedAfterEach();

  async function behindProxy(path: string) {
    let port = 0;
    const proxy = await listening(
      createServer((req, res) => {
        if (req.url?.startsWith(`${path}/`) !== true) return void res.writeHead(404).end();
        const { method, headers } = req;
        const sent = request(
          { port, host: '127.0.0.1', method, headers, path: req.url.slice(path.length) },
          (answer) => {
            res.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.pipe(res);
          },
        );
        req.pipe(sent);
      }),
    );
    opened(proxy);
    const base = `http://127.0.0.1:${proxy.port}${path}`;
    const rest = opened(await RestHarness.open({ publicUrl: () => base }));
    ({ port } = rest);
    return { base, credential: rest.credential };
  }

  for (const path of ['/dr', '/a/b', '']) {
    it(`appears in every link: "${path}"`, async () => {
      const { base, credential } = await behindProxy(path);
      const headers = { 'Authorization': `Bearer ${credential}`, 'Content-Type': 'application/json' };
      const post = (address: string, body: object) =>
        fetch(base + BASE + address, {
          method: 'POST',
          headers: { ...headers, 'Idempotency-Key': address },
          body: JSON.stringify(body),
        });
      for (const created of [
        await post('/generations', PICTURE),
        await post('/generations', { ...PICTURE }),
        await post('/webhooks', { url: 'https://app.example/hook', events: ['generation.succeeded'] }),
      ]) {
        const location = created.headers.get('location') ?? '';
        expect(location).to.match(new RegExp(`^${path}${BASE}/`));
        expect((await fetch(new URL(location, created.url), { headers })).status, location).to.equal(200);
      }
      const first = await fetch(`${base}/`, { redirect: 'manual' });
      expect(first.headers.get('location')).to.match(new RegExp(`^${path}/[a-z]`));
      const description = (await (await fetch(`${base}/openapi.json`)).json()) as {
        readonly servers: readonly { readonly url: string }[];
      };
      const [server] = description.servers.map(({ url }) => new URL(url, `${base}/openapi.json`).href);
      expect(server?.replace(/\/$/, '')).to.equal(base);
      for (const at of [`${base}/docs`, `${base}/docs/credits`]) {
        const page = await (await fetch(at)).text();
        for (const [, link = ''] of page.matchAll(/(?:href|src)="((?!data:|https?:)[^"]+)"/g)) {
          const linked = await fetch(new URL(link, at), { redirect: 'manual' });
          if (linked.status === 200) continue;
          expect([linked.status, linked.headers.get('location')], link).to.deep.equal([302, `${path}/console`]);
        }
      }
    });
  }
});

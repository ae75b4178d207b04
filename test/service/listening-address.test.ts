// Goal: the start of a server behind a proxy reports where it listens, and not only the address for clients; commands
// beside it know that address.
// Method: the compiled program with a public URL and any free port; its output and log, and a request to that port; commands
// with other variables than the server has.
import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CliProcess } from '../harness/cli-run.js';
import { Place } from './place.js';

describe('a server with a public URL', () => {
  let place: Place;
  let server: CliProcess | undefined;
  beforeEach(() => {
    place = new Place({ rest: { port: 0 }, log: { level: 'info', format: 'json' } });
  });
  afterEach(async () => {
    server?.child.kill('SIGKILL');
    await server?.ended;
    place.remove();
  });

  async function started(
    environment: Readonly<Record<string, string>>,
  ): Promise<{ said: string; logged: Record<string, unknown> }> {
    server = place.start(['serve'], environment);
    await server.until('stdout', 'Ctrl-C stops.');
    await server.until('stderr', '"msg":"serving"}\n');
    const line = server.stderr.split('\n').find((text) => text.includes('"serving"')) ?? '';
    return { said: server.stdout.split('\n', 1)[0] ?? '', logged: JSON.parse(line) as Record<string, unknown> };
  }

  it('prints where it listens too', async () => {
    const { said, logged } = await started({ DARKROOM_REST_PUBLIC_URL: 'https://pictures.example' });
    const { address, listening } = logged;
    expect(address).to.equal('https://pictures.example');
    expect(listening).to.match(/^127\.0\.0\.1:\d+$/);
    expect(said).to.equal(
      `Serving on https://pictures.example (its API is described at https://pictures.example/docs), listening on ${String(listening)}. Ctrl-C stops.`,
    );
    expect((await fetch(`http://${String(listening)}/readyz`)).status).to.equal(200);
  });

  it('prints it once if the two are the same', async () => {
    const { said, logged } = await started({});
    expect(logged['address']).to.equal(`http://${String(logged['listening'])}`);
    expect(said).not.to.include('listening on');
    expect(server?.stderr).not.to.include('DARKROOM_REST_PUBLIC_URL');
  });

  for (const host of ['0.0.0.0', '::'])
    it(`names this machine for ${host}, and warns that no other machine can open that, unless it has a public URL`, async () => {
      const WARNING = 'set rest.public_url or DARKROOM_REST_PUBLIC_URL';
      const { logged } = await started({ DARKROOM_REST_HOST: host });
      expect(logged['address']).to.match(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect((await fetch(`${String(logged['address'])}/readyz`)).status).to.equal(200);
      await server?.until('stderr', WARNING);
      server?.child.kill('SIGTERM');
      await server?.ended;
      await started({ DARKROOM_REST_HOST: host, DARKROOM_REST_PUBLIC_URL: 'http://pictures.example' });
      server?.child.kill('SIGTERM');
      expect((await server?.ended)?.stderr).not.to.include(WARNING);
    });

  it('is the one that links to sign in begin with, also from a command that is configured otherwise', async () => {
    const link = async (): Promise<string> => {
      const [{ account_id } = { account_id: '' }] = (
        await place.json<{ accounts: { account_id: string }[] }>(['accounts', 'list'])
      ).accounts;
      email += 1;
      const args = ['people', 'create', account_id, `ada${email}@example.com`];
      return new URL((await place.json<{ sign_in_link: string }>(args)).sign_in_link).origin;
    };
    let email = 0;
    const { logged } = await started({});
    const { port } = new URL(String(logged['address']));
    expect(await link()).to.equal(`http://localhost:${port}`);
    server?.child.kill('SIGKILL');
    await server?.ended;
    expect(existsSync(join(place.folder, 'data', 'server.url'))).to.equal(true);
    expect(await link(), 'of no server').to.equal('http://localhost:0');
    await started({ DARKROOM_REST_PUBLIC_URL: 'https://pictures.example' });
    expect(await link()).to.equal('https://pictures.example');
    server?.child.kill('SIGTERM');
    await server?.ended;
    expect(existsSync(join(place.folder, 'data', 'server.url'))).to.equal(false);
  });
});

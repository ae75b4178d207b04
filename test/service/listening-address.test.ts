// Goal: the start of a server behind a proxy reports where it listens, and not only the address for clients.
// Method: the compiled program with a public URL and any free port; its output and log, and a request to that port.
import { expect } from 'chai';
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
  });
});

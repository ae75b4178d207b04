// Goal: a service whose object store is unavailable starts, answers what needs no objects, signs nothing, and signs
// again once the store is back; a store that answers and is wrong stops the start.
// Method: the compiled program over SQLite and the test's own MinIO, which is killed and started again.
import { expect } from 'chai';
import { CliProcess } from '../harness/cli-run.js';
import { refusedStart } from '../harness/refused-start.js';
import { bucketSettings, freshBucket } from '../servers/fresh-places.js';
import { ServerProcess } from '../servers/server-process.js';
import { orSkip } from '../servers/servers.js';
import { LiveService } from './live-service.js';

const PICTURE = { filename: 'a.png', media_type: 'image/png', byte_size: 10, role: 'reference_image' };

describe('a start while the object store is unavailable', () => {
  let minio: ServerProcess | undefined;
  let service: LiveService;
  let secret: string;

  before(async function open() {
    minio = await orSkip(this, ServerProcess.start('minio'));
    service = await LiveService.prepare({
      config: {
        stores: { objects: 'minio' },
        minio: { ...bucketSettings(freshBucket(minio.s3)), timeout_seconds: 1 },
        log: { level: 'info', format: 'json' },
      },
    });
    expect((await service.run('migrate')).code).to.equal(0);
  });
  after(async () => {
    await service?.remove();
    await minio?.stop();
  });

  const started = async (environment: Readonly<Record<string, string>> = {}): Promise<CliProcess> => {
    const server = new CliProcess(service.folder, ['serve'], {
      environment: { DARKROOM_CONFIG: service.configFile, ...environment },
    });
    await server.until('stdout', 'Serving on').catch(() => undefined);
    return server;
  };
  const prepare = (key: string) => service.client(secret).request('POST', '/uploads', { key, body: PICTURE });

  it('needs the store only at the very first start', async () => {
    await minio?.kill();
    const { code, stderr } = await (await started({ DARKROOM_DATA_FOLDER: 'another' })).ended;
    expect(code).to.equal(1);
    expect(refusedStart(stderr)).to.include('cannot be used right now');
    await minio?.restart();
    const server = await started();
    ({ secret } = await service.tenant(100));
    expect((await prepare('first')).status).to.equal(201);
    server.child.kill('SIGTERM');
    await server.ended;
  });

  it('serves, refuses to sign, and signs once the store is back and checked', async () => {
    await minio?.kill();
    const server = await started();
    try {
      expect((await service.client(secret).request('GET', '/credits')).status).to.equal(200);
      expect(await prepare('second')).to.include({ status: 503, code: 'SERVICE_UNAVAILABLE' });
      await minio?.restart();
      await server.until('stderr', 'object store reached');
      expect((await prepare('second')).status).to.equal(201);
    } finally {
      server.child.kill('SIGTERM');
      await server.ended;
    }
    expect(server.stderr.match(/object store not reached at the start/g)).to.have.length(1);
    expect(server.stderr).not.to.include('"stack"');
  });

  it('fails if the store answers and refuses the key', async () => {
    const { code, stderr } = await (await started({ DARKROOM_MINIO_SECRET_KEY: 'another-secret-key' })).ended;
    expect(code).to.equal(1);
    expect(refusedStart(stderr)).to.include('the secret key does not belong');
  });
});

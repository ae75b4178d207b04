// Goal: a command with --grpc talks to nobody but the server it was told, whose certificate it trusts, and shows the server its own.
// Method: the compiled program as a child process against a gRPC front with TLS; certificates made for the run by an authority of
// the test and by a stranger.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Authority, type Pair } from '../../fixtures/authority.js';
import type { Ran } from '../../fixtures/cli-process.js';
import { orSkip } from '../../servers/servers.js';
import { GrpcStage } from './grpc-stage.js';

describe('operators\' commands with --grpc over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-cli-tls-'));
  let ours: Authority;
  let strangers: Authority;
  let stage: GrpcStage | undefined;

  before(async function () {
    ours = await orSkip(this, Authority.make(folder, 'ours'));
    strangers = await orSkip(this, Authority.make(folder, 'strangers'));
  });
  afterEach(() => stage?.close());
  after(() => { rmSync(folder, { recursive: true }); });

  /** `accounts list` on a server with this certificate. */
  async function ask({ names, clients = false, args, token }: { readonly names: readonly string[]; readonly clients?: boolean; readonly args: readonly string[]; readonly token?: string }): Promise<Ran> {
    const { cert, key } = ours.issue({ names, usage: 'serverAuth' });
    stage = await GrpcStage.open({}, ServerCredentials.createSsl(clients ? ours.cert : null, [{ cert_chain: cert, private_key: key }], clients));
    const { address } = stage;
    return stage.run(['accounts', 'list', ...args.map((arg) => arg.replace('HERE', address).replace('PORT', address.split(':')[1] ?? ''))], token);
  }

  const own = ({ certFile, keyFile }: Pair) => ['--grpc-cert', certFile, '--grpc-key', keyFile];
  const trusting = (address: string) => ['--grpc', address, '--grpc-ca', ours.certFile];

  it('trust the authority that is named, and the name or address that was given', async () => {
    expect(await ask({ names: ['IP:127.0.0.1'], args: trusting('HERE') })).to.deep.include({ code: 0, stderr: '' });
    await stage?.close();
    expect(await ask({ names: ['DNS:localhost'], args: trusting('localhost:PORT') })).to.deep.include({ code: 0, stderr: '' });
  });

  it('trust no other authority, and no certificate for another name', async () => {
    const refused = /^darkroom: \S+:\d+ cannot be reached: its certificate is not trusted\.\n$/;
    const asked = async (names: readonly string[], args: readonly string[]) => {
      const { code, stderr } = await ask({ names, args });
      await stage?.close();
      expect(stderr).to.match(refused);
      expect(code).to.equal(1);
    };
    await asked(['IP:127.0.0.1'], ['--grpc', 'https://HERE']);
    await asked(['IP:127.0.0.1'], ['--grpc', 'HERE', '--grpc-ca', strangers.certFile]);
    await asked(['DNS:localhost'], trusting('HERE'));
    await asked(['DNS:darkroom.example'], trusting('localhost:PORT'));
  });

  it('say so when the server wants TLS and this was not said', async () => {
    const { code, stderr } = await ask({ names: ['IP:127.0.0.1'], args: ['--grpc', 'HERE'] });
    expect(stderr).to.match(/^darkroom: \S+ cannot be reached: the connection was cut; if it wants TLS, write https:\/\/ before it\.\n$/);
    expect(code).to.equal(1);
  });

  it('need no token where the certificate says who calls', async () => {
    const certificate = ours.issue({ names: ['DNS:operator'] });
    expect(await ask({ names: ['IP:127.0.0.1'], clients: true, token: '', args: [...trusting('HERE'), ...own(certificate)] })).to.deep.include({ code: 0, stderr: '' });
  });

  it('say that the server wants a certificate, and one it trusts', async () => {
    const asked = (certificate: readonly string[]) => ask({ names: ['IP:127.0.0.1'], clients: true, args: [...trusting('HERE'), ...certificate] });
    const none = await asked([]);
    expect(none.stderr).to.match(/^darkroom: \S+ cannot be reached: it wants a client certificate that it trusts\.\n$/);
    await stage?.close();
    const stranger = await asked(own(strangers.issue({ names: ['DNS:operator'] })));
    expect(stranger.stderr).to.match(/^darkroom: \S+ cannot be reached: the connection was cut; it may not trust the client certificate\.\n$/);
    expect([none.code, stranger.code]).to.deep.equal([1, 1]);
  });

  it('take no key that belongs to another certificate', async () => {
    const [{ certFile }, { keyFile }] = [ours.issue({}), ours.issue({})];
    const { code, stderr } = await ask({ names: ['IP:127.0.0.1'], args: [...trusting('HERE'), '--grpc-cert', certFile, '--grpc-key', keyFile] });
    expect(stderr).to.equal('darkroom: --grpc-ca, --grpc-cert and --grpc-key must be PEM files: certificates, and the key that belongs to them.\n');
    expect(code).to.equal(2);
  });
});

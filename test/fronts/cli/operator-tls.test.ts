// Goal: a command with --grpc talks only to the server it was given, whose certificate it trusts, and presents its own
// certificate to that server.
// Method: command lines run in this process, against a gRPC front with TLS; certificates are issued for the run by the
// test's authority and by an untrusted one.
import { ServerCredentials } from '@grpc/grpc-js';
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority, type Pair, type Subject } from '../../fixtures/authority.js';
import type { Ran } from '../../harness/cli-run.js';
import { orSkip } from '../../servers/servers.js';
import { GrpcService } from './grpc-service.js';

interface Asked extends Pick<Subject, 'commonName' | 'days'> {
  readonly names: readonly string[];
  /** Whether the server asks for certificates, and accepts only those of our authority. */
  readonly clients?: boolean;
  readonly args: readonly string[];
  readonly token?: string;
}

describe("operators' commands with --grpc over TLS", () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-cli-tls-'));
  let ours: Authority;
  let strangers: Authority;
  let grpc: GrpcService | undefined;

  before(async function () {
    ours = await orSkip(this, Authority.make(folder, 'ours'));
    strangers = await orSkip(this, Authority.make(folder, 'strangers'));
  });
  afterEach(() => grpc?.close());
  after(() => {
    rmSync(folder, { recursive: true });
  });

  /** `accounts list` on a server with this certificate. */
  async function ask({ names, clients = false, args, token, ...about }: Asked): Promise<Ran> {
    const { cert, key } = ours.issue({ names, usage: 'serverAuth', ...about });
    grpc = await GrpcService.open(
      {},
      ServerCredentials.createSsl(clients ? ours.cert : null, [{ cert_chain: cert, private_key: key }], clients),
    );
    const { address } = grpc;
    return grpc.run(
      [
        'accounts',
        'list',
        ...args.map((arg) => arg.replace('HERE', address).replace('PORT', address.split(':')[1] ?? '')),
      ],
      token,
    );
  }

  const own = ({ certFile, keyFile }: Pair) => ['--grpc-cert', certFile, '--grpc-key', keyFile];
  const trusting = (address: string) => ['--grpc', address, '--grpc-ca', ours.certFile];

  it('trust the named authority, and the given name or address', async () => {
    expect(await ask({ names: ['IP:127.0.0.1'], args: trusting('HERE') })).to.deep.include({ code: 0, stderr: '' });
    await grpc?.close();
    expect(await ask({ names: ['DNS:localhost'], args: trusting('localhost:PORT') })).to.deep.include({
      code: 0,
      stderr: '',
    });
  });

  it('refuse another authority, a certificate for another name and an expired one, and name the reason', async () => {
    const refused = async (asked: Asked, reason: string) => {
      const { code, stderr } = await ask(asked);
      await grpc?.close();
      expect(stderr.replace(/^darkroom: \S+:\d+ /, '')).to.equal(`cannot be reached: its certificate ${reason}.\n`);
      expect(code).to.equal(1);
    };
    const here = ['IP:127.0.0.1'];
    await refused(
      { names: here, args: ['--grpc', 'https://HERE'] },
      'is from an authority this machine does not trust; name it with --grpc-ca',
    );
    await refused(
      { names: here, args: ['--grpc', 'HERE', '--grpc-ca', strangers.certFile] },
      'is not from an authority in the file of --grpc-ca',
    );
    await refused(
      { names: ['DNS:localhost', 'IP:10.0.0.5'], args: trusting('HERE') },
      'is for localhost, 10.0.0.5, not for 127.0.0.1',
    );
    await refused(
      { names: ['DNS:darkroom.example'], args: trusting('localhost:PORT') },
      'is for darkroom.example, not for localhost',
    );
    await refused(
      { names: [], commonName: 'studio', args: trusting('localhost:PORT') },
      'is for studio, not for localhost',
    );
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await refused({ names: here, days: -1, args: trusting('HERE') }, `expired on ${yesterday}`);
  });

  it('say so when the server requires TLS and the address does not', async () => {
    const { code, stderr } = await ask({ names: ['IP:127.0.0.1'], args: ['--grpc', 'HERE'] });
    expect(stderr).to.match(
      /^darkroom: \S+ cannot be reached: the connection was cut; if it requires TLS, write https:\/\/ before it\.\n$/,
    );
    expect(code).to.equal(1);
  });

  it('need no token if the certificate identifies the caller', async () => {
    const certificate = ours.issue({ names: ['DNS:operator'] });
    expect(
      await ask({
        names: ['IP:127.0.0.1'],
        clients: true,
        token: '',
        args: [...trusting('HERE'), ...own(certificate)],
      }),
    ).to.deep.include({ code: 0, stderr: '' });
  });

  it('say that the server requires a certificate that it trusts', async () => {
    const asked = (certificate: readonly string[]) =>
      ask({ names: ['IP:127.0.0.1'], clients: true, args: [...trusting('HERE'), ...certificate] });
    const none = await asked([]);
    expect(none.stderr).to.match(
      /^darkroom: \S+ cannot be reached: it requires a client certificate that it trusts\.\n$/,
    );
    await grpc?.close();
    const stranger = await asked(own(strangers.issue({ names: ['DNS:operator'] })));
    expect(stranger.stderr).to.match(
      /^darkroom: \S+ cannot be reached: the connection was cut, as by a server that does not accept the client certificate\.\n$/,
    );
    expect([none.code, stranger.code]).to.deep.equal([1, 1]);
  });

  it('refuse to send an unusable certificate, and name its fault', async () => {
    const refused = async ({ certFile, keyFile }: Pick<Pair, 'certFile' | 'keyFile'>, sentence: string) => {
      const { code, stderr } = await ask({
        names: ['IP:127.0.0.1'],
        clients: true,
        args: [...trusting('HERE'), '--grpc-cert', certFile, '--grpc-key', keyFile],
      });
      await grpc?.close();
      expect(stderr).to.equal(`darkroom: ${sentence}\n`);
      expect(code).to.equal(2);
    };
    const [one, other, over, ofServer] = [
      ours.issue({}),
      ours.issue({}),
      ours.issue({ days: -1 }),
      ours.issue({ usage: 'serverAuth' }),
    ];
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await refused(
      { certFile: one.certFile, keyFile: other.keyFile },
      `--grpc-key ${other.keyFile} is not the key of --grpc-cert ${one.certFile}.`,
    );
    await refused(over, `--grpc-cert ${over.certFile} expired on ${yesterday}.`);
    await refused(ofServer, `--grpc-cert ${ofServer.certFile} is not a client certificate.`);
    await refused(
      { ...one, keyFile: one.certFile },
      `--grpc-key ${one.certFile} is not a private key in PEM form that opens without a password.`,
    );
  });

  it('say why the server does not know a caller by its certificate', async () => {
    const asked = async (clients: boolean, subject: Subject) =>
      (
        await ask({
          names: ['IP:127.0.0.1'],
          clients,
          token: '',
          args: [...trusting('HERE'), ...own(ours.issue(subject))],
        })
      ).stderr;
    const nameless = await asked(true, { commonName: 'operator' });
    expect(nameless).to.match(
      /^darkroom: The server does not know a caller by the client certificate: it has no URI or DNS name\. \(DEVELOPER_TOKEN_REQUIRED, request \S+\)\n$/,
    );
    await grpc?.close();
    const unseen = await asked(false, { names: ['DNS:operator'] });
    expect(unseen).to.match(
      /^darkroom: The server received no client certificate: it requests none, or a proxy terminates TLS; set DARKROOM_SERVICE_TOKEN\. \(DEVELOPER_TOKEN_REQUIRED, request \S+\)\n$/,
    );
  });
});

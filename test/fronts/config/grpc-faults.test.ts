// Goal: a gRPC front is refused if it would not authenticate its callers, or if others could read their tokens.
// Method: every setting alone, and with the settings that make it safe.
import { expect } from 'chai';
import { filesDriver } from '../../../adapters/files/files-driver.js';
import { mongoDriver } from '../../../adapters/mongo/mongo-driver.js';
import { sqliteDriver } from '../../../adapters/sqlite/sqlite-driver.js';
import { timersDriver } from '../../../adapters/timers/timers-driver.js';
import { grpcFaults } from '../../../apps/config/combinations.js';
import type { Config, GrpcConfig } from '../../../apps/config/config.js';

const STORES = {
  database: { driver: sqliteDriver, options: {} },
  objects: { driver: filesDriver, options: {} },
  wakeUps: { driver: timersDriver, options: {} },
};
const TLS = { tlsCertFile: 'cert', tlsKeyFile: 'key' };

function faults(grpc: Partial<GrpcConfig>, changes: Partial<Pick<Config, 'role' | 'stores'>> = {}): string {
  return grpcFaults({
    grpc: { host: '127.0.0.1', port: 9090, plaintext: false, ...grpc },
    role: 'all',
    stores: STORES,
    ...changes,
  }).join(' ');
}

describe('a gRPC front', () => {
  it('may do without authentication on the loopback of a process with its own data folder, and nowhere else', () => {
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) expect(faults({ host }), host).to.equal('');
    expect(faults({}, { role: 'rest' })).to.include('grpc.callers_file');
    expect(faults({}, { stores: { ...STORES, database: { driver: mongoDriver, options: {} } } })).to.include(
      'grpc.callers_file',
    );
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example', '::ffff:10.0.0.1'])
      expect(faults({ host, ...TLS }), host).to.include('grpc.callers_file');
    expect(faults({ callersFile: 'callers' }, { role: 'rest' })).to.equal('');
  });

  it('beyond this machine needs TLS, or an explicit setting for plain text', () => {
    const host = '0.0.0.0';
    expect(faults({ host, callersFile: 'callers' })).to.include('plain text');
    expect(faults({ host, callersFile: 'callers', plaintext: true })).to.equal('');
    expect(faults({ host, callersFile: 'callers', ...TLS })).to.equal('');
  });

  it('needs certificate and key, or neither', () => {
    expect(faults({ tlsCertFile: 'cert' })).to.include('belong together');
    expect(faults({ tlsKeyFile: 'key' })).to.include('belong together');
    expect(faults({ tlsClientCaFile: 'ca' })).to.include('grpc.tls_client_ca_file needs');
    expect(faults({ ...TLS, tlsClientCaFile: 'ca' })).to.include('grpc.callers_file');
    expect(faults({ ...TLS, tlsClientCaFile: 'ca', callersFile: 'callers' })).to.equal('');
  });

  it('has no faults if it is not configured', () =>
    expect(grpcFaults({ role: 'rest', stores: STORES })).to.deep.equal([]));
});

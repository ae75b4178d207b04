import type { Settings } from './kind-of-server.js';

/**
 * The configuration of a PgBouncer that pools by transaction, and that accepts the users of a file without a password. PgBouncer
 * does not run as root, so it changes to another user if root starts it.
 */
export function pgbouncerConfiguration({ port, lines }: Pick<Settings, 'port' | 'lines'>, users: string): string {
  return `[databases]
${lines}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
admin_users = postgres
${process.getuid?.() === 0 ? 'user = nobody' : ''}
`;
}

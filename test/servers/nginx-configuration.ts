/** A place where nginx puts files that do not fit into its memory. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * The configuration of an nginx that runs as one process of this user, which keeps what it writes below the folder that
 * it was started for.
 */
export function nginxConfiguration({ port, lines }: { readonly port: number; readonly lines: string }): string {
  return `daemon off;
# A worker would outlive a killed master.
master_process off;
pid nginx.pid;
error_log stderr warn;

events {}

http {
  access_log off;
${TEMPORARY.map((name) => `  ${name}_temp_path ${name};\n`).join('')}
  server {
    listen 127.0.0.1:${port};
${lines}
  }
}
`;
}

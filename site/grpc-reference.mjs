/** The gRPC reference: the services' own definitions, which hold the comments of every call and field. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'proto/darkroom/v1';

export function grpcReference(root) {
  const files = readdirSync(join(root, FOLDER)).map((name) => ({
    name,
    text: readFileSync(join(root, FOLDER, name), 'utf8'),
  }));
  const withCalls = files.filter(({ text }) => /^service /m.test(text));
  const others = files.filter((file) => !withCalls.includes(file));
  return [
    '# gRPC reference',
    'The definitions of `darkroom.v1`. [gRPC](../grpc.md) says who may call, and how.',
    ...[...withCalls, ...others].map(({ name, text }) => {
      const services = [...text.matchAll(/^service (\w+)/gm)].map(([, service]) => service);
      const title = services.length > 0 ? services.join(', ') : name;
      return `## ${title}\n\n\`${FOLDER}/${name}\`\n\n\`\`\`proto\n${text.trim()}\n\`\`\``;
    }),
    '',
  ].join('\n\n');
}

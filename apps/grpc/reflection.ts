import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
} from '@bufbuild/protobuf/wkt';
import type { handleBidiStreamingCall, MethodDefinition, Server, ServerDuplexStream } from '@grpc/grpc-js';
import type * as ProtoLoader from '@grpc/proto-loader';
import type * as GrpcReflection from '@grpc/reflection';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lazyPackage } from '../../adapters/lazy-packages.js';

const FOLDER = fileURLToPath(new URL('../../../proto', import.meta.url));
const WELL_KNOWN = [
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
];

type Method = MethodDefinition<unknown, unknown>;
type Handler = handleBidiStreamingCall<unknown, unknown>;

interface Served {
  readonly method: Method;
  readonly handler: Handler;
}

const METHOD = 'ServerReflectionInfo';
const PATHS = [`/grpc.reflection.v1.ServerReflection/${METHOD}`, `/grpc.reflection.v1alpha.ServerReflection/${METHOD}`];

const protoLoader = lazyPackage<typeof ProtoLoader>('@grpc/proto-loader');
const reflection = lazyPackage<typeof GrpcReflection>('@grpc/reflection');

/**
 * Serves the reflection protocol, by which tools learn the services and their messages without the proto files. These and
 * the libraries are loaded with the first request: to load them takes longer than to start the rest of the front.
 */
export function addReflection(server: Server): void {
  let loaded: ReadonlyMap<string, Served> | undefined;
  const served = (path: string): Served => {
    loaded ??= load();
    const found = loaded.get(path);
    if (found === undefined) throw new Error(`The library does not serve ${path}.`);
    return found;
  };
  for (const path of PATHS) {
    const method: Method = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message) => served(path).method.requestSerialize(message),
      requestDeserialize: (bytes) => served(path).method.requestDeserialize(bytes),
      responseSerialize: (message) => served(path).method.responseSerialize(message),
      responseDeserialize: (bytes) => served(path).method.responseDeserialize(bytes),
    };
    const handler = (call: ServerDuplexStream<unknown, unknown>): void => {
      served(path).handler(call);
      boundResponses(call);
    };
    server.addService({ [METHOD]: method }, { [METHOD]: handler });
  }
}

/** The method of each version of the protocol, by its path. */
function load(): ReadonlyMap<string, Served> {
  const { ReflectionService } = reflection();
  const versions = new Map<string, Served>();
  const fileDescriptorProtos = loadDescriptors().map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
  new ReflectionService({
    darkroom: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos },
  }).addToServer({
    addService: ({ [METHOD]: method }: Record<string, Method>, { [METHOD]: handler }: Record<string, Handler>) => {
      if (method !== undefined && handler !== undefined) versions.set(method.path, { method, handler });
    },
  });
  return versions;
}

/**
 * Stops reading requests while the client does not take the responses. The library writes each response at once, so a client that
 * reads none would make the process keep all of them.
 */
function boundResponses(call: ServerDuplexStream<unknown, unknown>): void {
  call.on('data', () => {
    if (!call.writableNeedDrain) return;
    call.pause();
    call.once('drain', () => call.resume());
  });
}

/**
 * A descriptor of each file in `proto/`, and of the well-known files that they import. The loader describes one file for
 * each package, and leaves out what its own clients do not need: Go tools refuse such descriptors. So its messages, enums
 * and services are put back into their files, and completed as protoc does. Options of files are left out.
 */
export function loadDescriptors(): readonly FileDescriptorProto[] {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.proto'));
  const definitions = Object.values(protoLoader().loadSync([...names], { includeDirs: [FOLDER], keepCase: true }));
  const [loaded] = definitions.flatMap(({ fileDescriptorProtos }) =>
    Array.isArray(fileDescriptorProtos) ? [fileDescriptorProtos] : [],
  );
  const packages = (loaded ?? []).map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const types = new Set(packages.flatMap((one) => namesIn(one.package, one.messageType, one.enumType)));
  for (const one of packages)
    for (const message of one.messageType) complete(message, `${one.package}.${message.name}`, types);
  const own = names.map((name) => fileOf(name, packages));
  return [...own, ...WELL_KNOWN.map(({ proto }) => proto)];
}

/** The part of a package that a file declares. */
function fileOf(name: string, packages: readonly FileDescriptorProto[]): FileDescriptorProto {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  const whole = packages.find((one) => one.package === /^package (.+);$/m.exec(text)?.[1]);
  if (whole === undefined) throw new Error(`${name} has no package that was loaded.`);
  const declared = [...text.matchAll(/^(?:message|enum|service) (\w+)/gm)].map((match) => match[1]);
  const isOwn = ({ name: type }: { readonly name: string }): boolean => declared.includes(type);
  return {
    ...whole,
    name,
    dependency: [...text.matchAll(/^import "(.+)";$/gm)].map((match) => match[1] ?? ''),
    messageType: whole.messageType.filter(isOwn),
    enumType: whole.enumType.filter(isOwn),
    service: whole.service.filter(isOwn),
    options: undefined,
  };
}

interface Named {
  readonly name: string;
}

function namesIn(scope: string, messages: readonly DescriptorProto[], enums: readonly Named[]): string[] {
  return [
    ...enums.map(({ name }) => `${scope}.${name}`),
    ...messages.flatMap((message) => {
      const name = `${scope}.${message.name}`;
      return [name, ...namesIn(name, message.nestedType, message.enumType)];
    }),
  ];
}

function complete(message: DescriptorProto, scope: string, types: Set<string>): void {
  for (const field of message.field) {
    const entry = message.nestedType.find(({ name, options }) => options?.mapEntry && name === field.typeName);
    if (entry !== undefined) {
      entry.name = `${pascalCase(field.name)}Entry`;
      field.typeName = entry.name;
      types.add(`${scope}.${entry.name}`);
    }
  }
  for (const nested of message.nestedType) complete(nested, `${scope}.${nested.name}`, types);
  for (const field of message.field) {
    if (field.typeName !== '') field.typeName = fullName(field.typeName, scope, types);
    if (isSynthetic(message, field)) field.proto3Optional = true;
    const { name } = field;
    field.jsonName = name.replace(/_+([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase());
    field.options = undefined;
  }
}

/** Whether the field is `optional`, which descriptors write as a oneof of its own. */
function isSynthetic(message: DescriptorProto, field: FieldDescriptorProto): boolean {
  return message.oneofDecl[field.oneofIndex]?.name === `_${field.name}`;
}

function pascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A name as it is used within a scope, as protoc resolves it: the innermost scope that has it. */
function fullName(name: string, scope: string, types: ReadonlySet<string>): string {
  if (name.startsWith('.')) return name;
  for (let outer = scope; outer !== ''; outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.'))))
    if (types.has(`${outer}.${name}`)) return `.${outer}.${name}`;
  return `.${name}`;
}

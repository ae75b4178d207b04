import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type {
  handleBidiStreamingCall,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { file_google_rpc_error_details } from './generated/google/rpc/error_details_pb.js';
import { file_google_rpc_status } from './generated/google/rpc/status_pb.js';
import { file_grpc_health_v1_health } from './generated/grpc/health/v1/health_pb.js';

type Reflection = readonly { readonly service: ServiceDefinition; readonly methods: UntypedServiceImplementation }[];

/**
 * Serves the reflection protocol, by which tools learn the services and their messages without the proto files. Their
 * descriptors are made with the first request: that takes longer than to start the rest of the front.
 */
export function addReflection(server: Server, services: readonly DescService[]): void {
  let reflection: Reflection | undefined;
  reflectionOf([]).forEach(({ service, methods }, index) => {
    const loading = Object.keys(methods).map((name) => [
      name,
      (call: ServerDuplexStream<unknown, unknown>): void => {
        reflection ??= reflectionOf(descriptorsOf(services));
        const serve = reflection[index]?.methods[name] as handleBidiStreamingCall<unknown, unknown> | undefined;
        serve?.(call);
        boundResponses(call);
      },
    ]);
    server.addService(service, Object.fromEntries(loading) as UntypedServiceImplementation);
  });
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

/** The versions of the protocol, over these files. */
function reflectionOf(files: readonly FileDescriptorProto[]): Reflection {
  const versions: Reflection[number][] = [];
  const fileDescriptorProtos = files.map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
  new ReflectionService({
    darkroom: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos },
  }).addToServer({
    addService: (service: ServiceDefinition, methods: UntypedServiceImplementation) =>
      versions.push({ service, methods }),
  });
  return versions;
}

/**
 * The files of these services, of the health service and of the details of refusals, and what they import.
 */
export function descriptorsOf(services: readonly DescService[]): readonly FileDescriptorProto[] {
  const files = new Set<DescFile>([
    ...services.map(({ file }) => file),
    file_grpc_health_v1_health,
    file_google_rpc_error_details,
    file_google_rpc_status,
  ]);
  // A set also visits what is added meanwhile.
  for (const { dependencies } of files) for (const file of dependencies) files.add(file);
  return [...files].map(({ proto }) => proto);
}

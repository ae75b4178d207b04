import { toBinary, type DescFile, type DescService } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_google_rpc_error_details } from './generated/google/rpc/error_details_pb.js';

/** What tools ask to learn the services and their messages without the proto files: they are in the program already. */
export function reflectionOf(services: Iterable<DescService>): ReflectionService {
  const files = new Map<string, Buffer>();
  for (const { file } of services) collect(file, files);
  // No service names these; tools ask for them when they show the details of a refusal.
  collect(file_google_rpc_error_details, files);
  const { Check: health } = healthService;
  if (health === undefined) throw new Error('The health service has no Check.');
  const { fileDescriptorProtos } = health.requestType as MessageTypeDefinition<object, object>;
  return new ReflectionService({
    darkroom: {
      format: 'Protocol Buffer 3 DescriptorProto',
      type: {},
      fileDescriptorProtos: [...files.values(), ...fileDescriptorProtos],
    },
  });
}

/** A file after all that it needs. */
function collect(file: DescFile, files: Map<string, Buffer>): void {
  if (files.has(file.name)) return;
  for (const needed of file.dependencies) collect(needed, files);
  files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
}

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Role } from '../api-types.js';
import { newKey, remove, sentenceOf } from '../server.js';
import { inApp } from '../apps/usable-apps.js';
import type { GenerationInput } from '../server-types.js';
import { uploadReference } from './upload-reference.js';

/** A reference file on its way, or one that is there. */
export interface Reference {
  readonly key: string;
  readonly name: string;
  readonly role: Role;
  readonly state: 'uploading' | 'ready' | 'failed';
  /** Absent for one of an earlier generation. */
  readonly file?: File;
  /** An address within this page, to show it by. */
  readonly preview?: string;
  readonly uploadId?: string;
  readonly fault?: string;
}

export interface References {
  readonly all: readonly Reference[];
  readonly add: (files: readonly File[], role: Role) => void;
  readonly retry: (key: string) => void;
  /** Sends it again: the role is part of an upload. */
  readonly changeRole: (key: string, role: Role) => void;
  readonly drop: (key: string) => void;
}

/** The reference files of the form, each uploaded as soon as it is there; first those of an earlier generation. */
export function useReferences(appId: string, known: GenerationInput['references'] = []): References {
  const [all, setAll] = useState<readonly Reference[]>(() => known.map(earlier));
  const sending = useRef(new Map<string, AbortController>());
  const previews = useRef<string[]>([]);
  useEffect(
    () => () => {
      for (const controller of sending.current.values()) controller.abort();
      for (const url of previews.current) URL.revokeObjectURL(url);
    },
    [],
  );
  const change = (key: string, changes: Partial<Reference>): void =>
    setAll((before) => before.map((one) => (one.key === key ? { ...one, ...changes } : one)));

  const send = async (reference: Reference): Promise<void> => {
    const { key, file, role } = reference;
    if (file === undefined) return;
    sending.current.get(key)?.abort();
    const controller = new AbortController();
    sending.current.set(key, controller);
    const { signal } = controller;
    try {
      const uploadId = await uploadReference({ appId, file, role, signal });
      if (!signal.aborted) change(key, { state: 'ready', uploadId });
    } catch (error) {
      if (!signal.aborted) change(key, { state: 'failed', fault: sentenceOf(error) });
    }
  };
  /** Nothing is lost by one that stays: the server removes uploads that no generation was made with. */
  const discard = ({ uploadId, file }: Reference): void => {
    if (uploadId === undefined || file === undefined) return;
    void remove(inApp(appId, `/uploads/${uploadId}`)).catch(() => undefined);
  };
  const again = (key: string, changes: Partial<Reference> = {}): void => {
    const found = all.find((one) => one.key === key);
    if (found?.file === undefined) return;
    const { fault: _fault, uploadId: _uploadId, ...rest } = found;
    discard(found);
    const next: Reference = { ...rest, ...changes, state: 'uploading' };
    setAll((before) => before.map((one) => (one.key === key ? next : one)));
    void send(next);
  };

  return {
    all,
    add: (files, role) => {
      const added = files.map((file): Reference => {
        const preview = URL.createObjectURL(file);
        previews.current.push(preview);
        return { key: newKey(), name: file.name, role, state: 'uploading', file, preview };
      });
      setAll((before) => [...before, ...added]);
      for (const one of added) void send(one);
    },
    retry: (key) => again(key),
    changeRole: (key, role) => again(key, { role }),
    drop: (key) => {
      sending.current.get(key)?.abort();
      const found = all.find((one) => one.key === key);
      if (found !== undefined) discard(found);
      setAll((before) => before.filter((one) => one.key !== key));
    },
  };
}

function earlier({ upload_id: uploadId, role }: GenerationInput['references'][number], index: number): Reference {
  return { key: newKey(), name: `Reference ${index + 1} of the earlier generation`, role, state: 'ready', uploadId };
}

/** What the four-function start remembers of one file: where its bytes are, or that it did not exist. */
export interface FileBackup {
  filePath: string
  backupPath: string | null
}

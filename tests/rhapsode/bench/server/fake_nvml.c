/* NVIDIA's management library as far as `rhapsode bench` asks it, of a machine with two GPUs.

   Its numbers are those of the real one's header: 0 success, 3 not supported, 9 no driver. */

#include <stdlib.h>

typedef struct { unsigned long long total, free, used; } Memory;

static char places[2];

static int which(void *device) { return (char *)device != places; }

int nvmlInitWithFlags(unsigned int flags) { (void)flags; return getenv("FAKE_NVML_NO_DRIVER") ? 9 : 0; }

int nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(int error) { (void)error; return "as the fake library says"; }

int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { *device = &places[index]; return 0; }

int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
  memory->total = 80ull << 30;
  memory->used = which(device) ? 1ull << 30 : 20ull << 30;
  memory->free = memory->total - memory->used;
  return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts) {
  if (getenv("FAKE_NVML_NO_POWER")) return 3;
  *milliwatts = which(device) ? 70500 : 350000;
  return 0;
}

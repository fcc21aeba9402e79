"""HPC Challenge over the shim, unmodified: linear algebra, random access and Fourier transforms of two ranks, each of which checks its
own results."""
import re

import files
import programs
import session
from skip import need_program

# As the package's example, but smaller. hpcc chooses the sizes of its other tests by N.
INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
400          Ns
1            # of NBs
40           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def test_hpc_challenge():
    need_program("hpcc", "hpcc")
    files.write("hpccinf.txt", INPUT)
    command = f"mpirun.openmpi --oversubscribe -np 2 --wdir {files.at()} --mca pml ucx --mca osc ucx --mca btl ^openib hpcc"
    process = session.run(command.split(), programs.MPI)
    assert process.code == 0, process
    with open(files.at("hpccoutf.txt"), encoding="ascii") as out:
        report = out.read()
    assert re.search(r"^Success=1$", report, re.MULTILINE) and "End of HPC Challenge tests." in report, report[-3000:]
    verdicts = re.sub(r"^ *0 tests completed and failed residual checks[.,]$", "", report, flags=re.MULTILINE)
    assert "FAILED" not in verdicts.upper(), report
